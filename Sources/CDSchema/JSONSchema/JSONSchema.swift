/// The JSON Schema of a model's files, by which editors complete and check them while they are written.
///
/// It knows every key and the form of every value. What needs more than one place, such as whether an inverse
/// leads back, only `cdgen check` can say.
public enum JSONSchema {
  /// One document for `model.yaml` and for the files of the versions, of JSON Schema's draft 2020-12.
  ///
  /// `#/$defs/version` and `#/$defs/model` describe the two kinds of files on their own.
  public static var text: String { document }
}
