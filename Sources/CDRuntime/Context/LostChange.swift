/// A change of a property that no save writes, because the object had been deleted, here or by another context, or
/// its context had been reset.
///
/// The context's ``ManagedObjectContext/errors`` report it at once, and the next save throws
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
/// Values that an object's own hooks set are not lost changes, such as a modification time that
/// ``ManagedObjectLifecycle/willSave()`` sets. A change is not lost either if the deletion has been taken back before
/// the save.
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
    "'\(entity).\(property)' of \(objectID) was set after the object had been deleted or reset; no save writes the "
      + "value"
  }
}

/// The lost changes that the next save reports.
struct LostChanges {
  /// The changes. A change is confirmed once the values of the object's row have replaced it.
  private var list: [(object: ManagedObject, change: LostChange, isConfirmed: Bool)] = []
  /// More changes would add no information.
  private static let limit = 100

  var isEmpty: Bool { list.isEmpty }

  mutating func add(_ object: ManagedObject, _ property: String) {
    let change = LostChange(entity: object.scope.plan.name, property: property, objectID: object.objectID)
    guard list.count < Self.limit, !list.contains(where: { $0.change == change }) else { return }
    list.append((object, change, false))
  }

  /// Records that an object has the values of its row now, so that its lost changes cannot come back.
  mutating func confirm(_ object: ManagedObject) {
    for index in list.indices where list[index].object === object { list[index].isConfirmed = true }
  }

  mutating func removeAll() { list.removeAll() }

  /// Removes all lost changes and returns those that were replaced, and those of objects that are still deleted or
  /// reset.
  @_optimize(none)
  mutating func take() -> [LostChange] {
    defer { list.removeAll() }
    return list.filter { $0.isConfirmed || $0.object.isLost }.map(\.change)
  }
}
