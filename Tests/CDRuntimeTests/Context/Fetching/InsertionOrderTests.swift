import Foundation
import Testing

@testable import CDRuntime

/// Fetches without sort keys give the objects in the order of their insertion, whichever way the store finds the rows.
@Suite struct InsertionOrderTests {
  private let container: PersistentContainer
  private static let count = 600

  init() throws {
    var item = EntityDescription(
      name: "Item",
      attributes: [
        AttributeDescription(name: "code", type: .int64), AttributeDescription(name: "text", type: .string),
      ],
      relationships: [
        RelationshipDescription(name: "box", destination: "Box", isOptional: true, inverse: "items"),
        RelationshipDescription(name: "tags", destination: "Tag", isToMany: true, inverse: "items"),
      ])
    item.indexes = [
      IndexDescription(elements: [SortKey("code")]), IndexDescription(elements: [SortKey("text")]),
    ]
    // An index has all columns of this one, so SQLite may read the index instead of the table.
    var tag = EntityDescription(
      name: "Tag", attributes: [AttributeDescription(name: "name", type: .string)],
      relationships: [
        RelationshipDescription(name: "items", destination: "Item", isToMany: true, inverse: "tags")
      ])
    tag.indexes = [IndexDescription(elements: [SortKey("name")])]
    container = try PersistentContainer(
      scratchOf: [
        item, tag, EntityDescription(name: "Special", parent: "Item"),
        EntityDescription(
          name: "Box",
          relationships: [
            RelationshipDescription(name: "items", destination: "Item", isToMany: true, inverse: "box")
          ]),
      ])
    let context = container.newContext()
    let boxes = try (0..<3).map { _ in try context.insert(entityNamed: "Box") }
    let tags = try (0..<120).map { number in
      let tag = try context.insert(entityNamed: "Tag")
      try tag.setValue(String(9999 - number * 7), forKey: "name")
      return tag
    }
    for number in 0..<Self.count {
      let object = try context.insert(entityNamed: number % 4 == 1 ? "Special" : "Item")
      // No order of the codes is that of the insertion.
      try object.setValue(Int64(number * 7919 % 601), forKey: "code")
      try object.setValue("Text \(number * 31 % 601)", forKey: "text")
      try object.setValue(boxes[number % 3], forKey: "box")
      if number < 300 { try object.setValue(.objects([tags[(number * 17) % 120], tags[7]]), forKey: "tags") }
    }
    try context.save()
  }

  private func fetch(
    _ entity: String, where format: String? = nil, limit: Int? = nil, offset: Int = 0,
    in context: ManagedObjectContext
  ) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    if let format { request.predicate = try FetchPredicate(format: format) }
    (request.limit, request.offset) = (limit, offset)
    return try context.fetch(request)
  }

  private func keys(_ objects: [ManagedObject]) -> [Int64] { objects.map(\.objectID.key) }

  private static let forms: [(entity: String, format: String?, count: Int?)] = [
    ("Item", nil, 600), ("Special", nil, 150), ("Tag", nil, 120), ("Item", "code > 300", 299),
    ("Special", "code > 300", nil), ("Item", "text BEGINSWITH 'Text 4'", nil),
    ("Item", "code IN {5, 3, 500, 77}", 4), ("Tag", "name > '91'", nil),
    ("Item", "ANY tags.name > '95'", nil),
  ]

  @Test(arguments: forms)
  func allObjectsComeInTheOrderOfInsertion(entity: String, format: String?, count: Int?) throws {
    let context = container.newContext()
    let found = try fetch(entity, where: format, in: context)
    #expect(!found.isEmpty && keys(found) == keys(found).sorted() && Set(keys(found)).count == found.count)
    if let count { #expect(found.count == count) }
    // The objects are in memory now.
    #expect(try fetch(entity, where: format, in: context) == found)
  }

  @Test(arguments: [1, 100, 101, 140, 599, 600, 5000], [0, 1, 200])
  func aLimitTakesTheFirst(limit: Int, offset: Int) throws {
    for entity in ["Item", "Special"] {
      let all = try keys(fetch(entity, in: container.newContext()))
      let found = try fetch(entity, limit: limit, offset: offset, in: container.newContext())
      #expect(keys(found) == Array(all.dropFirst(offset).prefix(limit)))
    }
  }

  @Test func relatedObjectsComeInTheOrderOfInsertion() throws {
    let context = container.newContext()
    for (entity, key) in [("Box", "items"), ("Tag", "items"), ("Item", "tags")] {
      var counts: Set<Int> = []
      for owner in try fetch(entity, in: context) {
        guard case .objects(let related) = try owner.value(forKey: key) else { continue }
        counts.insert(related.count)
        #expect(keys(related) == keys(related).sorted())
      }
      #expect(counts.max() ?? 0 > 1)
    }
  }

  /// Values that a fetch finds changed go to the objects in memory.
  @Test func objectsInMemoryGetNewerRows() throws {
    let (mine, other) = (container.newContext(), container.newContext())
    let objects = try fetch("Item", in: mine)
    for object in try fetch("Item", where: "code < 100", in: other) {
      try object.setValue("new", forKey: "text")
    }
    try other.save()
    #expect(try fetch("Item", where: "text == 'new'", in: mine).count == 100)
    let values = try objects.map { try $0.value(forKey: "text") == .attribute(.string("new")) }
    #expect(values.filter(\.self).count == 100)
  }
}
