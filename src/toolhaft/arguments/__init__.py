"""From a function and its prompt to parameters that a model can read and pydantic can enforce.

`signature` evaluates the hints and refuses what no model could call, `facts` says in the terms of JSON what a hint
takes, `agreement` holds prompt and signature against each other, and `document` writes what the prompt adds into the
annotations, where pydantic-ai and every other door find it.
"""

from toolhaft.arguments.document import documented as documented
from toolhaft.arguments.models import arguments_model as arguments_model
from toolhaft.arguments.signature import evaluated_signature as evaluated_signature
from toolhaft.arguments.signature import model_parameters as model_parameters
from toolhaft.arguments.signature import takes_context as takes_context
from toolhaft.arguments.signature import with_path as with_path
from toolhaft.arguments.signature import without_annotated as without_annotated
