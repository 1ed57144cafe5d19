#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The initial values of mandatory properties whose types have no obvious empty value.
///
/// ```swift
/// let draft = ToDo(in: context)
/// assert(draft.dueDate == EmptyValue.date)
/// ```
public enum EmptyValue {
  /// The reference date, 2001-01-01 00:00:00 UTC.
  public static let date = Date(timeIntervalSinceReferenceDate: 0)
  /// 0.
  public static let decimal = Decimal(0)
  /// No bytes.
  public static let data = Data()
  /// The UUID that consists of zeros.
  public static let uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  /// `about:blank`.
  public static let url = URL(string: "about:blank") ?? URL(filePath: "/")
}
