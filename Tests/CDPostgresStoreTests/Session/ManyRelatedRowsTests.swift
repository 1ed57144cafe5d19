import CDModel
import Foundation
import Testing

@testable import CDPostgresStore
@testable import CDRuntime

/// One block that reads more related rows than it keeps.
@Suite(.needsServer) struct ManyRelatedRowsTests {
  private static let count = 52_000

  private static let model: ManagedObjectModel = {
    let box = RelationshipDescription(
      name: "box", destination: "Box", isOptional: true, inverse: "labels")
    let labels = RelationshipDescription(
      name: "labels", destination: "Label", isToMany: true, inverse: "box")
    return ManagedObjectModel(
      name: "Boxes", id: UUID(uuidString: "A1E86F0C-93B1-4B0F-8B06-2F6E6D7C5E13") ?? UUID(),
      versions: [
        ModelVersion(
          number: 1,
          entities: [
            EntityDescription(
              name: "Box", attributes: [AttributeDescription(name: "number", type: .int64)],
              relationships: [labels]),
            EntityDescription(name: "Crate", parent: "Box"),
            EntityDescription(
              name: "Label", attributes: [AttributeDescription(name: "number", type: .int64)],
              relationships: [box]),
          ])
      ], currentVersionNumber: 1)
  }()

  private let store: ServerStore
  private let container: PersistentContainer

  /// Fills the store with boxes that have a label with the same number each. Every third box is a crate.
  init() throws {
    store = try ServerStore()
    container = PersistentContainer(
      try PersistentStoreCoordinator(model: Self.model, at: .server(store.server)))
    _ = try store.sql(
      #"INSERT INTO \#(store.table("Box")) (_pk, _version, _entity, "number") "#
        + "SELECT n, 1, CASE WHEN n % 3 = 0 THEN 'Crate' ELSE 'Box' END, n "
        + "FROM generate_series(1, \(Self.count)) AS n")
    _ = try store.sql(
      #"INSERT INTO \#(store.table("Label")) (_pk, _version, "number", "box") "#
        + "SELECT n, 1, n, n FROM generate_series(1, \(Self.count)) AS n")
  }

  private func forEachObject(
    of entity: String, _ context: ManagedObjectContext,
    _ body: (ManagedObject, AttributeValue?) throws -> Void
  ) throws {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.sortKeys = [SortKey("number")]
    request.limit = 10_000
    while request.offset < Self.count {
      for object in try context.fetch(request) { try body(object, object.value(forKey: "number").attribute) }
      request.offset += 10_000
    }
  }

  @Test func eachReferenceLeadsToItsObject() throws {
    let context = container.newContext()
    var (wrong, all) = ([String](), 0)
    try context.perform {
      try forEachObject(of: "Label", context) { label, number in
        all += 1
        guard case .object(let box?) = try label.value(forKey: "box"),
          try box.value(forKey: "number").attribute == number
        else { return wrong.append("\(label.objectID.key)") }
      }
    }
    #expect(wrong.isEmpty && all == Self.count, "\(wrong.count): \(wrong.prefix(5)) of \(all)")
  }

  @Test func eachListHasItsObjects() throws {
    let context = container.newContext()
    var (wrong, all) = ([String](), 0)
    try context.perform {
      try forEachObject(of: "Box", context) { box, number in
        all += 1
        guard case .objects(let labels) = try box.value(forKey: "labels"), labels.count == 1,
          try labels[0].value(forKey: "number").attribute == number
        else { return wrong.append("\(box.objectID.key)") }
      }
    }
    #expect(wrong.isEmpty && all == Self.count, "\(wrong.count): \(wrong.prefix(5)) of \(all)")
  }
}
