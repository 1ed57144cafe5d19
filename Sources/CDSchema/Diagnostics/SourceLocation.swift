/// A position in a file, as compilers and editors count it.
public struct SourceLocation: Hashable, Sendable {
  /// The file's path, as the caller gave it.
  public var path: String
  /// The line, counted from 1.
  public var line: Int
  /// The column in Unicode scalars, counted from 1.
  public var column: Int

  /// Creates a position. Lines and columns count from 1.
  public init(path: String, line: Int, column: Int) {
    self.path = path
    self.line = line
    self.column = column
  }
}

extension SourceLocation: Comparable {
  public static func < (left: SourceLocation, right: SourceLocation) -> Bool {
    if left.path != right.path { return left.path.utf8.lexicographicallyPrecedes(right.path.utf8) }
    return (left.line, left.column) < (right.line, right.column)
  }
}

extension SourceLocation: CustomStringConvertible {
  /// The location as `path:line:column`, which editors and build tools turn into a link.
  public var description: String { "\(path):\(line):\(column)" }
}
