"""One log record for each call of a tool: name, arguments, outcome, duration.

`record` writes it, `shown` makes arguments fit to be shown.
"""

from toolhaft.call_log.record import LOGGER as LOGGER
from toolhaft.call_log.record import logged as logged
from toolhaft.call_log.shown import shown_arguments as shown_arguments
from toolhaft.call_log.shown import shown_text as shown_text
