/// Something that could not be taken over as it was.
struct ImportRemark: Hashable {
  /// What it is about, in words: `attribute 'x' of 'Y'`.
  var subject: String
  var message: String
  /// Where it stands in its version's file.
  var line: Int
  var column: Int
}

/// How models are imported.
public struct XcodeImportOptions: Sendable {
  /// What becomes of numbers and Booleans that Xcode lets be nil and classes show as plain values.
  public enum Scalars: String, Sendable, CaseIterable {
    /// They stay optional: `Int32?`.
    case optional
    /// They are mandatory with a default, 0 or false where they have none: as code saw them.
    case `default`
  }

  public var scalars: Scalars
  /// Whether whoever imports confirms that what a version no longer has is lost on purpose. Where something else may be
  /// meant, a renaming that nobody said or a move, it is asked for all the same.
  public var confirmsLosses: Bool

  public init(scalars: Scalars = .optional, confirmsLosses: Bool = false) {
    self.scalars = scalars
    self.confirmsLosses = confirmsLosses
  }
}
