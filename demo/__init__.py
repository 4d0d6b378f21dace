"""Services of known bias, to try Assay and to test its ratings against the truth.

`translators` speak LibreTranslate's protocol: a made-up language with known biases, services that fail on purpose, and
Apertium, a real translator. `predictors`, `language_models` and `images` hold the other services of known bias, and
`interfaces` the protocols that they speak. `server` serves all of them.
"""
