/// An Xcode mapping model on disk.
public struct XcodeMappingFile: Sendable {
  /// The path of its `xcmapping.xml`, for messages.
  public var path: String
  /// The file's bytes.
  public var contents: [UInt8]

  /// Creates a mapping file.
  public init(path: String, contents: [UInt8]) {
    self.path = path
    self.contents = contents
  }
}
