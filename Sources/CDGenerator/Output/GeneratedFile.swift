/// How far generated declarations can be seen.
public enum AccessLevel: String, Hashable, Sendable, CaseIterable {
  /// Outside of the package too.
  case `public`
  /// In all modules of the package.
  case package
  /// In the module alone.
  case `internal`
}

/// A file of generated Swift.
public struct GeneratedFile: Hashable, Sendable {
  /// The file's name, `ToDo+Generated.swift`, without a folder.
  public var name: String
  /// The file's text.
  public var contents: String

  /// A file of a name and a text.
  public init(name: String, contents: String) {
    self.name = name
    self.contents = contents
  }
}
