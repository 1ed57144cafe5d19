// Whoever has a model has its values: an app and the tools import one module.
@_exported public import CDValues
