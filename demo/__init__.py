"""Services whose bias is known, to see Assay at work and to test it against the truth.

`tongue` is a made-up language, `pronouns` finds and replaces pronouns, `behaviours` are known
biases made of the two, `ills` are services that do not work as they should, `server` speaks the
LibreTranslate protocol for all of them, and `apertium` starts a real translator.
"""

from demo.apertium import Apertium
from demo.behaviours import BEHAVIOURS, Behaviour, behaviour
from demo.ills import ILLS, Ill, Tuning
from demo.server import DemoServer, create_demo

__all__ = [
    "BEHAVIOURS",
    "ILLS",
    "Apertium",
    "Behaviour",
    "DemoServer",
    "Ill",
    "Tuning",
    "behaviour",
    "create_demo",
]
