/// One of Xcode's mapping models as it lies on disk.
public struct XcodeMappingFile: Sendable {
  /// The path of its `xcmapping.xml`, as messages show it.
  public var path: String
  /// The file's bytes.
  public var contents: [UInt8]

  /// A file as given.
  public init(path: String, contents: [UInt8]) {
    self.path = path
    self.contents = contents
  }
}
