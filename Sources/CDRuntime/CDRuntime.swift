// One import for apps and generated code: the values of a model come with the runtime, and what migrations are made of.
@_exported public import CDMapping
@_exported public import CDModel
