/// The JSON Schema of a model's files. Editors use it to complete and check the files while you write them.
///
/// It describes every key and the form of every value. Mistakes that involve more than one element, such as a wrong
/// inverse, are found only by `cdgen check`.
public enum JSONSchema {
  /// One document for `model.yaml` and for the files of the versions, in JSON Schema draft 2020-12.
  ///
  /// `#/$defs/version` and `#/$defs/model` describe the two sorts of files separately.
  public static var text: String { document.text() }
}
