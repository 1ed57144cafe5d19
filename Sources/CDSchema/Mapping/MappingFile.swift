/// The file of a mapping.
public enum MappingFile {
  /// The file's name for a step: `3-4.mapping.yaml`.
  public static func name(from source: Int, to destination: Int) -> String {
    "\(source)-\(destination).mapping.yaml"
  }
}
