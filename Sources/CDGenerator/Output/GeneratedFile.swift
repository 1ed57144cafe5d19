/// The access level of generated declarations.
public enum AccessLevel: String, Hashable, Sendable, CaseIterable {
  /// Visible outside the package.
  case `public`
  /// Visible in all modules of the package.
  case package
  /// Visible in the module only.
  case `internal`
}

/// A file of generated Swift.
public struct GeneratedFile: Hashable, Sendable {
  /// The file's name without a folder, such as `ToDo+Generated.swift`.
  public var name: String
  /// The file's text.
  public var contents: String

  /// Creates a file.
  public init(name: String, contents: String) {
    self.name = name
    self.contents = contents
  }
}
