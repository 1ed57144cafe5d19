/// A property that was set of an object which no save writes: it had been deleted, here or by others, or its context had
/// been reset.
///
/// The context's ``ManagedObjectContext/errors`` tell of it at once, and its next save throws
/// ``SaveError/changesLost(_:)``:
///
/// ```swift
/// do {
///   try context.save()
/// } catch SaveError.changesLost(let changes) {
///   for change in changes { print(change.entity, change.property, "was set too late") }
///   try context.save()
/// }
/// ```
///
/// What an object's own hooks set is none, such as the time of the change in ``ManagedObjectLifecycle/willSave()``. Neither
/// is what has been taken back with the deletion when the save comes.
public struct LostChange: Hashable, Sendable {
  /// The name of the object's entity.
  public let entity: String
  /// The name of the property.
  public let property: String
  /// The object.
  public let objectID: ManagedObjectID
}

extension LostChange: CustomStringConvertible {
  public var description: String {
    "'\(entity).\(property)' was set of \(objectID), which had been deleted or reset; no save writes it"
  }
}

/// The changes that the next save is to say are lost.
struct LostChanges {
  private var list: [(object: ManagedObject, change: LostChange)] = []
  /// More of them say nothing new.
  private static let limit = 100

  var isEmpty: Bool { list.isEmpty }

  mutating func add(_ object: ManagedObject, _ property: String) {
    let change = LostChange(entity: object.scope.plan.name, property: property, objectID: object.objectID)
    guard list.count < Self.limit, !list.contains(where: { $0.change == change }) else { return }
    list.append((object, change))
  }

  mutating func removeAll() { list.removeAll() }

  /// Those of objects that have not come back to life, once.
  mutating func take() -> [LostChange] {
    defer { list.removeAll() }
    return list.filter { $0.object.isLost }.map(\.change)
  }
}
