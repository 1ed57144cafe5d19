#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// By what a store knows its model: two models may have one name.
///
/// ```swift
/// do {
///   _ = try PersistentContainer(for: ToDoModel.self, at: url)
/// } catch StoreError.otherModel(_, let found, let expected) {
///   print("the store is of \(found), the app of \(expected)")
/// }
/// ```
public struct ModelIdentity: Hashable, Sendable, CustomStringConvertible {
  /// The model's name, which may change.
  public let name: String
  /// The model's `id`, which never does.
  public let id: UUID

  /// The identity of a model.
  public init(name: String, id: UUID) {
    self.name = name
    self.id = id
  }

  /// `'Notes' (8A5D8C0E-5B5E-4B0E-9C60-3B1B6C1E7A01)`
  public var description: String { "'\(name)' (\(id.uuidString))" }
}
