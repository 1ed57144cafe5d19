/// A message about something that could not be imported unchanged.
struct ImportRemark: Hashable {
  /// The element, in words: `attribute 'x' of 'Y'`.
  var subject: String
  var message: String
  /// The position in the version's file.
  var line: Int
  var column: Int
}

/// The options of an import.
public struct XcodeImportOptions: Sendable {
  /// How to import optional numbers and Booleans that Xcode's classes show as plain values.
  public enum Scalars: String, Sendable, CaseIterable {
    /// The attributes stay optional: `Int32?`.
    case optional
    /// The attributes become mandatory. Without a default of their own they get 0 or false, which is what the app's
    /// code read.
    case `default`
  }

  public var scalars: Scalars
  /// Whether to confirm that data which a version no longer has is lost on purpose. A possible rename or move that is
  /// not declared remains a question.
  public var confirmsLosses: Bool

  public init(scalars: Scalars = .optional, confirmsLosses: Bool = false) {
    self.scalars = scalars
    self.confirmsLosses = confirmsLosses
  }
}
