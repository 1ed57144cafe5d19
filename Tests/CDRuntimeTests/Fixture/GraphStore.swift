import CDRuntime
import Foundation

/// A store of a model that a test describes, and contexts over it, which live as long as this.
final class GraphStore {
  let container: PersistentContainer
  private var contexts: [ManagedObjectContext] = []

  private let entity: String

  init(_ entities: [EntityDescription]) throws {
    entity = entities.first?.name ?? ""
    let version = ModelVersion(number: 1, entities: entities)
    container = try PersistentContainer(
      scratchModel: ManagedObjectModel(
        name: "Shared", id: UUID(), versions: [version], currentVersionNumber: 1))
  }

  func context(_ policy: MergePolicy = .error) -> ManagedObjectContext {
    let context = container.newContext()
    context.mergePolicy = policy
    contexts.append(context)
    return context
  }

  /// Has a context learn of what others have saved.
  func learn(_ context: ManagedObjectContext) throws {
    _ = try context.perform { try context.count(for: FetchRequest<ManagedObject>(entityName: entity)) }
  }

  /// A context's instance of an object, with its values.
  func instance(_ object: ManagedObject, in context: ManagedObjectContext) throws -> ManagedObject {
    try context.existingObject(with: object.objectID)
  }

  /// A value as the store has it: an attribute's, or the identifiers of the objects.
  func value(_ key: String, of object: ManagedObject) throws -> SharedValue {
    let reader = container.newContext()
    return try withExtendedLifetime(reader) {
      SharedValue(try reader.existingObject(with: object.objectID).value(forKey: key))
    }
  }

  /// The objects of an entity that the store has.
  func ids(of entity: String) throws -> Set<ManagedObjectID> {
    let reader = container.newContext()
    return try withExtendedLifetime(reader) {
      Set(try reader.objectIDs(for: FetchRequest<ManagedObject>(entityName: entity)))
    }
  }
}

/// A value that can be compared between contexts.
enum SharedValue: Hashable {
  case attribute(AttributeValue)
  case objects([ManagedObjectID])

  init(_ value: PropertyValue) {
    switch value {
    case .attribute(let value): self = .attribute(value)
    case .object(let object): self = .objects(object.map { [$0.objectID] } ?? [])
    case .objects(let objects): self = .objects(objects.map(\.objectID))
    }
  }
}

extension ManagedObject {
  /// A value as others can compare theirs with it.
  func shared(_ key: String) throws -> SharedValue { SharedValue(try value(forKey: key)) }
}
