"""What a model reads about a tool: `prompts/<tool>_prompt.xml` beside the module that defines it.

```xml
<tool_prompt>
    <description>Find lines that match a pattern.</description>
    <parameters>
        <parameter name="mode" required="false">
            <description>What to show of each match.</description>
            <type>string</type>
            <enum>content</enum>
            <enum>files_only</enum>
        </parameter>
    </parameters>
</tool_prompt>
```

`find` says where the file is, `document` reads it safely, `prompt` says what it may hold, and `docstring` carries a
text through pydantic-ai's reading of docstrings. A file is read when its tool is decorated, so an edited one is seen
by the next process.

The records here and in `arguments` are named tuples: a program defines them before its first answer, and a frozen
dataclass takes seven times as long to define.
"""

from toolhaft.prompts.docstring import armour as armour
from toolhaft.prompts.document import read_document as read_document
from toolhaft.prompts.find import check_name as check_name
from toolhaft.prompts.find import defining_file as defining_file
from toolhaft.prompts.find import find_prompt as find_prompt
from toolhaft.prompts.prompt import JSON_TYPES as JSON_TYPES
from toolhaft.prompts.prompt import Prompt as Prompt
from toolhaft.prompts.prompt import PromptParameter as PromptParameter
from toolhaft.prompts.prompt import load_prompt as load_prompt
