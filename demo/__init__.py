"""Services whose bias is known, to see Assay at work and to test it against the truth.

`tongue` is a made-up language, `pronouns` finds and replaces pronouns, `behaviours` are known
biases made of the two, and `ills` are services that do not work as they should; they translate, and
speak LibreTranslate's `protocol`. `embedders`, `sentiments` and `wages` predict with a `known` bias and
speak the `interfaces` of such services; so do `language` models, and those who look at the `pictures`
that an author there draws. What is said of whom both take from the catalog's `stereotypes`. `real`
systems do so too, and `apertium` starts a real translator. `server` serves all of them.
"""

from demo.predictors.known import PREDICTORS, predictor
from demo.predictors.prediction import Predictor
from demo.server import DemoServer, create_demo
from demo.translators.apertium import Apertium
from demo.translators.behaviours import BEHAVIOURS, Behaviour, behaviour
from demo.translators.faulty_services import ILLS, Ill, Tuning

__all__ = [
    "BEHAVIOURS",
    "ILLS",
    "PREDICTORS",
    "Apertium",
    "Behaviour",
    "DemoServer",
    "Ill",
    "Predictor",
    "Tuning",
    "behaviour",
    "create_demo",
    "predictor",
]
