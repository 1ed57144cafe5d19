// One import for apps and generated code: the values of a model come with the runtime.
@_exported public import CDModel
