import CDRuntime
import Foundation
import Testing

/// A row that updates another by a batch insert leaves all that is around it right.
@Suite struct BatchUpsertTests {
  private static let model: ManagedObjectModel = {
    let code = AttributeDescription(name: "code", type: .string)
    func derived(_ name: String, _ type: AttributeType, _ text: String) -> AttributeDescription {
      AttributeDescription(
        name: name, type: type, isOptional: true, derivation: try? ValueExpression(format: text))
    }
    let entities = [
      EntityDescription(
        name: "Paper", isAbstract: true, attributes: [code], uniquenessConstraints: [["code"]]),
      EntityDescription(
        name: "Letter", parent: "Paper",
        attributes: [AttributeDescription(name: "text", type: .string, isOptional: true)]),
      EntityDescription(name: "LoveLetter", parent: "Letter"),
      EntityDescription(name: "Memo", parent: "Paper"),
      EntityDescription(
        name: "Owner",
        attributes: [derived("n", .int64, "items.@count"), derived("badgeCode", .string, "badge.code")],
        relationships: [
          RelationshipDescription(
            name: "items", destination: "Item", isToMany: true, inverse: "owner", isOrdered: true),
          RelationshipDescription(
            name: "needed", destination: "Item", isToMany: true, inverse: "needer", minimumCount: 1),
          RelationshipDescription(name: "badge", destination: "Badge", inverse: "holder"),
        ]),
      EntityDescription(
        name: "Item",
        attributes: [code, AttributeDescription(name: "mark", type: .int64, isOptional: true)],
        relationships: [
          RelationshipDescription(name: "owner", destination: "Owner", inverse: "items"),
          RelationshipDescription(name: "needer", destination: "Owner", inverse: "needed"),
        ], uniquenessConstraints: [["code"]]),
      EntityDescription(
        name: "Badge", attributes: [code],
        relationships: [
          RelationshipDescription(
            name: "holder", destination: "Owner", isOptional: false, inverse: "badge")
        ], uniquenessConstraints: [["code"]]),
      EntityDescription(
        name: "Node",
        attributes: [
          code, derived("n", .int64, "children.@count"), derived("below", .int64, "children.@sum.n"),
          derived("above", .string, "parent.parent.code"),
        ],
        relationships: [
          RelationshipDescription(name: "parent", destination: "Node", inverse: "children"),
          RelationshipDescription(name: "children", destination: "Node", isToMany: true, inverse: "parent"),
        ], uniquenessConstraints: [["code"]]),
    ]
    return ManagedObjectModel(
      name: "Papers", id: UUID(), versions: [ModelVersion(number: 1, entities: entities)],
      currentVersionNumber: 1)
  }()

  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(scratchModel: Self.model)
    context = container.newContext()
  }

  @discardableResult
  private func upsert(_ entity: String, _ rows: [[String: FetchedValue]]) throws -> BatchResult {
    var request = BatchInsertRequest<ManagedObject>(entityName: entity, rows: rows)
    request.uniqueness = .update
    return try context.execute(request)
  }

  private func insert(_ entity: String, _ code: String? = nil) throws -> ManagedObject {
    let object = try context.insert(entityNamed: entity)
    if let code { try object.setValue(code, forKey: "code") }
    return object
  }

  /// Owners with what they need, and the objects of a relationship of theirs.
  private func owners(_ key: String, _ codes: [[String]]) throws -> [ManagedObject] {
    let owners = try codes.enumerated().map { number, codes in
      let owner = try insert("Owner")
      try owner.setValue(codes.map { try insert("Item", $0) }, forKey: key)
      if key != "needed" { try owner.setValue([insert("Item", "needed \(number)")], forKey: "needed") }
      return owner
    }
    try context.save()
    return owners
  }

  /// The codes of the objects of a relationship, as another context reads them.
  private func codes(_ key: String, of owner: ManagedObject) throws -> [AttributeValue?] {
    let read = container.newContext()
    guard case .objects(let objects) = try read.existingObject(with: owner.objectID).value(forKey: key) else {
      return []
    }
    return try objects.map { try $0.value(forKey: "code").attribute }
  }

  private func value(_ key: String, of id: ManagedObjectID) throws -> AttributeValue? {
    let read = container.newContext()
    return try withExtendedLifetime(read) { try read.existingObject(with: id).value(forKey: key).attribute }
  }

  private func value(_ key: String, of object: ManagedObject) throws -> AttributeValue? {
    try value(key, of: object.objectID)
  }

  // MARK: What is replaced

  @Test func aRowOfAnotherEntityIsNotReplaced() throws {
    _ = try insert("Memo", "1")
    let letter = try insert("Letter", "2")
    try context.save()
    #expect(throws: BatchError.notUnique(entity: "Letter", properties: ["code"], row: 1)) {
      try upsert("Letter", [["code": "2", "text": "new"], ["code": "1", "text": "new"]])
    }
    #expect(try value("text", of: letter) == .null)
    // Nor one of the entity above.
    #expect(throws: BatchError.notUnique(entity: "LoveLetter", properties: ["code"], row: 0)) {
      try upsert("LoveLetter", [["code": "2", "text": "new"]])
    }
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Paper")) == 2)
    var keeping = BatchInsertRequest<ManagedObject>(entityName: "Letter", rows: [["code": "1"]])
    keeping.uniqueness = .keep
    #expect(try context.execute(keeping).count == 0)
  }

  @Test func aRowOfAnEntityBelowIsReplaced() throws {
    let letter = try insert("LoveLetter", "1")
    try context.save()
    let result = try upsert("Letter", [["code": "1", "text": "new"], ["code": "3"]])
    #expect(
      result.changes.updated == ManagedObjectIDs([letter.objectID]) && result.changes.inserted.count == 1)
    #expect(try value("text", of: letter) == .string("new"))
  }

  @Test func eachRowSetsWhatItNames() throws {
    let (first, second) = (try insert("Item", "1"), try insert("Item", "2"))
    for item in [first, second] { try item.setValue(7, forKey: "mark") }
    try context.save()
    let result = try upsert(
      "Item", [["code": "1"], ["code": "2", "mark": nil], ["code": "3", "mark": 3], ["code": "3"]])
    #expect(result.count == 4 && result.changes.inserted.count == 1)
    #expect(try value("mark", of: first) == .int(7) && value("mark", of: second) == .null)
    let third = try #require(result.changes.inserted.first)
    #expect(try value("mark", of: third) == .int(3))
  }

  @Test func theHistoryNamesWhatEachRowNames() throws {
    let items = try ["1", "2", "3"].map { try insert("Item", $0) }
    try context.save()
    let coordinator = container.persistentStoreCoordinator
    let token = try coordinator.currentHistoryToken()
    try upsert(
      "Item",
      [
        ["code": "1"], ["code": "2", "mark": 3], ["code": "4", "mark": 3], ["code": "3"],
        ["code": "3", "owner": nil],
      ])
    let transactions = try coordinator.history(after: token)
    let transaction = try #require(transactions.first)
    #expect(transactions.count == 1)
    let names = items.map { transaction.updatedProperties(of: $0.objectID) }
    #expect(names == [["code"], ["code", "mark"], ["code", "owner"]])
  }

  // MARK: What had it before

  @Test func theFormerOwnersDerivedAttributesAndOrderFollow() throws {
    let owners = try owners("items", [["1", "2"], ["3"]])
    let result = try upsert("Item", [["code": "1", "owner": .object(owners[1].objectID)]])
    #expect(result.changes.updated.contains(owners[0].objectID))
    #expect(try value("n", of: owners[0]) == .int(1) && value("n", of: owners[1]) == .int(2))
    #expect(try codes("items", of: owners[0]) == [.string("2")])
    #expect(try codes("items", of: owners[1]) == [.string("3"), .string("1")])
    // And away from all.
    try upsert("Item", [["code": "1", "owner": nil], ["code": "2", "mark": 1]])
    #expect(try value("n", of: owners[0]) == .int(1) && value("n", of: owners[1]) == .int(1))
    try upsert("Item", [["code": "1", "owner": .object(owners[0].objectID)]])
    #expect(try codes("items", of: owners[0]) == [.string("2"), .string("1")])
  }

  @Test func whoStaysWithItsOwnerKeepsItsPlace() throws {
    let owners = try owners("items", [["1", "2", "3"]])
    try upsert(
      "Item",
      [
        ["code": "1", "owner": .object(owners[0].objectID)], ["code": "2", "mark": 1],
        ["code": "4", "owner": .object(owners[0].objectID)],
      ])
    #expect(try codes("items", of: owners[0]) == ["1", "2", "3", "4"].map { .string($0) })
  }

  @Test func moreRowsThanAreLookedUpAtOnceFollowToo() throws {
    let owners = try owners("items", [["a"], ["b"]])
    func rows(_ owner: ManagedObject) -> [[String: FetchedValue]] {
      (1...1200).map { ["code": .value("\($0)"), "owner": .object(owner.objectID)] }
    }
    #expect(try upsert("Item", rows(owners[0])).changes.inserted.count == 1200)
    #expect(try value("n", of: owners[0]) == .int(1201))
    let result = try upsert("Item", rows(owners[1]) + [["code": "7", "owner": .object(owners[0].objectID)]])
    #expect(result.count == 1201 && result.changes.inserted.isEmpty)
    #expect(try value("n", of: owners[0]) == .int(2) && value("n", of: owners[1]) == .int(1200))
    #expect(try codes("items", of: owners[0]) == [.string("a"), .string("7")])
    #expect(
      try codes("items", of: owners[1])
        == [.string("b")] + (1...1200).filter { $0 != 7 }.map { .string("\($0)") })
  }

  @Test func whoReadsThroughSeveralReferencesThatChangeFollows() throws {
    let nodes = try ["r", "s", "a", "b", "x"].map { try insert("Node", $0) }
    let (r, s, a, b, x) = (nodes[0], nodes[1], nodes[2], nodes[3], nodes[4])
    for (node, parent) in [(a, r), (b, r), (x, a)] { try node.setValue(parent, forKey: "parent") }
    try context.save()
    func values() throws -> [AttributeValue?] {
      try [value("below", of: r), value("below", of: s), value("above", of: x)]
    }
    #expect(try values() == [.int(1), .int(0), .string("r")])
    func row(_ code: String, _ parent: ManagedObject) -> [String: FetchedValue] {
      ["code": .value(code), "parent": .object(parent.objectID)]
    }
    // The whole branch goes over, then its end to one that stayed, then that one and the end back at once.
    try upsert("Node", [row("a", s)])
    #expect(try values() == [.int(0), .int(1), .string("s")])
    try upsert("Node", [row("x", b)])
    #expect(try values() == [.int(1), .int(0), .string("r")])
    try upsert("Node", [row("b", s), row("x", a), row("a", r)])
    #expect(try values() == [.int(1), .int(0), .string("r")])
    #expect(try value("n", of: b) == .int(0) && value("n", of: s) == .int(1))
  }

  @Test func aFormerPartnersDerivedAttributesFollow() throws {
    let owners = try owners("items", [[], []])
    let badge = try insert("Badge", "1")
    try badge.setValue(owners[0], forKey: "holder")
    try context.save()
    #expect(try value("badgeCode", of: owners[0]) == .string("1"))
    try upsert("Badge", [["code": "1", "holder": .object(owners[1].objectID)]])
    #expect(
      try value("badgeCode", of: owners[0]) == .null && value("badgeCode", of: owners[1]) == .string("1"))
    #expect(throws: BatchError.notUnique(entity: "Badge", properties: ["holder"], row: 0)) {
      try upsert("Badge", [["code": "2", "holder": .object(owners[1].objectID)]])
    }
  }

  @Test func aFormerOwnerThatIsLeftWithTooFewIsRefused() throws {
    let owners = try owners("needed", [["1"], ["2"]])
    do {
      try upsert("Item", [["code": "1", "needer": .object(owners[1].objectID)]])
      Issue.record("an owner is left without what it needs")
    } catch BatchError.invalid(let mistakes) {
      #expect(mistakes.map(\.objectID) == [owners[0].objectID])
      #expect(mistakes.map(\.property) == ["needed"] && mistakes.map(\.reason) == [.wrongCount(0)])
    }
    #expect(try codes("needed", of: owners[0]) == [.string("1")])
    // What comes in its place makes up for it.
    try upsert(
      "Item",
      [
        ["code": "1", "needer": .object(owners[1].objectID)],
        ["code": "2", "needer": .object(owners[0].objectID)],
      ])
    #expect(try codes("needed", of: owners[0]) == [.string("2")])
  }
}
