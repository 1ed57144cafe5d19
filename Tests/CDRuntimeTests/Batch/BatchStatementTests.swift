import CDRuntime
import Foundation
import Testing

/// Where one statement does all of a batch, its rows are told all the same.
@Suite(.onceForAllKinds) struct BatchStatementTests {
  private static let model: ManagedObjectModel = {
    let note = EntityDescription(
      name: "Note",
      attributes: [
        AttributeDescription(name: "text", type: .string),
        AttributeDescription(name: "mark", type: .int64, isOptional: true),
      ])
    let paper = EntityDescription(
      name: "Paper", attributes: [AttributeDescription(name: "mark", type: .int64, isOptional: true)])
    let letter = EntityDescription(name: "Letter", parent: "Paper")
    return ManagedObjectModel(
      name: "Notes", id: UUID(), versions: [ModelVersion(number: 1, entities: [note, paper, letter])],
      currentVersionNumber: 1)
  }()

  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(inMemoryModel: Self.model)
    context = container.newContext()
  }

  private func insert(_ entity: String, _ mark: Int64) throws -> ManagedObjectID {
    let object = try context.insert(entityNamed: entity)
    if entity == "Note" { try object.setValue("note \(mark)", forKey: "text") }
    try object.setValue(mark, forKey: "mark")
    return object.objectID
  }

  private func request(_ entity: String, _ format: String?) throws -> FetchRequest<ManagedObject> {
    FetchRequest(entityName: entity, where: try format.map { try FetchPredicate(format: $0) })
  }

  /// What another context learns of by the history.
  private func told(_ body: () throws -> Void) throws -> ObjectChanges {
    let start = try container.persistentStoreCoordinator.currentHistoryToken()
    try body()
    return try container.persistentStoreCoordinator.history(after: start).reduce(ObjectChanges()) {
      $0.followed(by: $1.changes)
    }
  }

  @Test(arguments: [nil, "mark == 2 OR mark == 3 OR mark == 7", "mark == 100"] as [String?])
  func theRowsOfATableOfOneEntityAreTold(_ format: String?) throws {
    let ids = try (0..<10).map { try insert("Note", $0) }
    try context.save()
    let chosen = format == nil ? ids : format == "mark == 100" ? [] : [ids[2], ids[3], ids[7]]
    var results: [BatchResult] = []
    let updates = try told {
      results.append(
        try context.execute(BatchUpdateRequest(request("Note", format), set: [.set("text", to: "new")])))
    }
    #expect(results[0].count == chosen.count)
    #expect(
      results[0].changes == ObjectChanges(updated: ManagedObjectIDs(chosen)) && updates == results[0].changes)
    let deletions = try told {
      results.append(try context.execute(BatchDeleteRequest(request("Note", format))))
    }
    #expect(results[1].count == chosen.count)
    #expect(
      results[1].changes == ObjectChanges(deleted: ManagedObjectIDs(chosen))
        && deletions == results[1].changes)
    #expect(try context.count(for: request("Note", nil)) == 10 - chosen.count)
  }

  @Test func theRowsOfATableOfSeveralEntitiesAreToldByTheirOwn() throws {
    let papers = try (0..<4).map { try insert("Paper", $0) }
    let letters = try (0..<4).map { try insert("Letter", $0) }
    try context.save()
    let updated = try context.execute(
      BatchUpdateRequest(request("Paper", "mark > 1"), set: [.set("mark", to: 9)]))
    #expect(
      updated.changes == ObjectChanges(updated: ManagedObjectIDs(papers[2...] + letters[2...])))
    let deleted = try context.execute(BatchDeleteRequest(request("Letter", "mark == 9")))
    #expect(deleted.changes == ObjectChanges(deleted: ManagedObjectIDs(letters[2...])))
  }

  @Test func anErrorLeavesNobodyListening() throws {
    let ids = try (0..<3).map { try insert("Note", $0) }
    try context.save()
    // An overflow ends the statement.
    let twice = try ValueExpression(format: "mark * 4611686018427387904")
    #expect(throws: (any Error).self) {
      try context.execute(BatchUpdateRequest(request("Note", nil), set: [.set("mark", to: twice)]))
    }
    #expect(try context.execute(BatchDeleteRequest(request("Note", "mark < 2"))).changes.deleted.count == 2)
    #expect(try context.existingObject(with: ids[2]).value(forKey: "mark") == .attribute(.int(2)))
  }
}
