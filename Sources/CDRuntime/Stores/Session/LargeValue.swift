#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The value of an `external:` attribute of type `Data` in an object: the value itself, or the fact that the object has
/// not read it yet.
///
/// A row of objects may leave such a value out, if reading it costs as much as sending it over a network. The getter of
/// the attribute then asks the object to read it: see `ManagedObject.readLargeValue(_:)`. Engines whose values are
/// in the program's reach anyway, such as mapped files, leave nothing out.
@_spi(Generated) public struct LargeValue {
  private enum State {
    case unread
    case read(Data?)
  }

  private let state: State

  private init(_ state: State) { self.state = state }

  /// A value that is known.
  public init(_ data: Data?) { state = .read(data) }

  /// A value that the store has and the object does not.
  static var unread: LargeValue { LargeValue(State.unread) }

  /// Whether the object must read the value before it uses it.
  public var isUnread: Bool {
    if case .unread = state { true } else { false }
  }

  /// The value; nil if it could not be read.
  public var data: Data? {
    if case .read(let data) = state { data } else { nil }
  }

  /// The value of a mandatory attribute; empty if it could not be read.
  public var mandatoryData: Data { data ?? EmptyValue.data }
}
