import CDRuntime
import Foundation
import Testing

/// Derived attributes that read other objects follow them, within the save that changes those.
@Suite struct DerivedTests {
  private static let model: ManagedObjectModel = {
    func derived(_ name: String, _ type: AttributeType, _ text: String) -> AttributeDescription {
      AttributeDescription(
        name: name, type: type, isOptional: true, derivation: try? ValueExpression(format: text))
    }
    let entities = [
      EntityDescription(
        name: "Shop",
        attributes: [
          AttributeDescription(name: "name", type: .string), derived("sales", .int64, "orders.@sum.total"),
        ],
        relationships: [
          RelationshipDescription(name: "orders", destination: "Order", isToMany: true, inverse: "shop")
        ]),
      EntityDescription(
        name: "Order",
        attributes: [
          derived("total", .int64, "lines.@sum.amount"), derived("title", .string, "shop.name"),
          derived("large", .int64, "SUBQUERY(lines, $l, $l.amount > 10).@count"),
        ],
        relationships: [
          RelationshipDescription(name: "shop", destination: "Shop", inverse: "orders"),
          RelationshipDescription(name: "lines", destination: "Line", isToMany: true, inverse: "order"),
        ]),
      EntityDescription(
        name: "Line", attributes: [AttributeDescription(name: "amount", type: .int64)],
        relationships: [RelationshipDescription(name: "order", destination: "Order", inverse: "lines")]),
    ]
    return ManagedObjectModel(
      name: "Shops", id: UUID(), versions: [ModelVersion(number: 1, entities: entities)],
      currentVersionNumber: 1)
  }()

  @Test func aChangeReachesAllThatReadIt() throws {
    let container = try PersistentContainer(scratchModel: Self.model)
    let context = container.newContext()
    let shop = try context.insert(entityNamed: "Shop")
    try shop.setValue("A", forKey: "name")
    let order = try context.insert(entityNamed: "Order")
    try order.setValue(shop, forKey: "shop")
    let lines = try (1...3).map { number in
      let line = try context.insert(entityNamed: "Line")
      try line.setValue(number * 5, forKey: "amount")
      try line.setValue(order, forKey: "order")
      return line
    }
    try context.save()
    func values() throws -> [PropertyValue] {
      let other = container.newContext()
      let (shop, order) = (
        try other.existingObject(with: shop.objectID), try other.existingObject(with: order.objectID)
      )
      return try [
        shop.value(forKey: "sales"), order.value(forKey: "total"), order.value(forKey: "title"),
        order.value(forKey: "large"),
      ]
    }
    func expected(_ sales: Int64, _ total: Int64, _ title: String, _ large: Int64) -> [PropertyValue] {
      [.attribute(.int(sales)), .attribute(.int(total)), .attribute(.string(title)), .attribute(.int(large))]
    }
    #expect(try values() == expected(30, 30, "A", 1))
    // Two relationships away, by way of another derived attribute.
    try lines[0].setValue(20, forKey: "amount")
    try context.save()
    #expect(try values() == expected(45, 45, "A", 2))
    try shop.setValue("B", forKey: "name")
    try context.save()
    #expect(try values() == expected(45, 45, "B", 2))
    context.delete(lines[0])
    try context.save()
    #expect(try values() == expected(25, 25, "B", 1))
    // From a context that has nothing of it in memory.
    let fresh = container.newContext()
    try fresh.existingObject(with: lines[1].objectID).setValue(11, forKey: "amount")
    try fresh.save()
    #expect(try values() == expected(26, 26, "B", 2))
  }

  // Settled 4: unsaved changes count in every fetch.
  @Test func settled4FetchesReadWhatTheSaveWillDerive() throws {
    let container = try PersistentContainer(scratchModel: Self.model)
    let context = container.newContext()
    let shop = try context.insert(entityNamed: "Shop")
    try shop.setValue("A", forKey: "name")
    let orders = try (1...3).map { _ in
      let order = try context.insert(entityNamed: "Order")
      try order.setValue(shop, forKey: "shop")
      return order
    }
    let lines = try orders.enumerated().map { place, order in
      let line = try context.insert(entityNamed: "Line")
      try line.setValue(place + 1, forKey: "amount")
      try line.setValue(order, forKey: "order")
      return line
    }
    try context.save()
    // Of an order that has no changes itself, and of the shop behind it.
    try lines[0].setValue(50, forKey: "amount")
    func count(_ entity: String, _ format: String) throws -> Int {
      try context.count(
        for: FetchRequest<ManagedObject>(entityName: entity, where: try FetchPredicate(format: format)))
    }
    #expect(try count("Order", "total == 50") == 1)
    #expect(try count("Order", "total == 1") == 0)
    #expect(try count("Shop", "sales == 55") == 1)
    #expect(try count("Shop", "SUBQUERY(orders, $o, $o.total > 40).@count == 1") == 1)
    var request = FetchRequest<ManagedObject>(entityName: "Order")
    request.sortKeys = [SortKey("total", ascending: false)]
    #expect(try context.fetch(request) == [orders[0], orders[2], orders[1]])
    request.propertiesToFetch = ["total"]
    #expect(
      try context.dictionaries(for: request).map { $0["total"] }
        == [50, 3, 2].map { FetchedValue.attribute(.int($0)) })
    // What is not to count does not.
    request.includesPendingChanges = false
    request.predicate = try FetchPredicate(format: "total == 1")
    #expect(try context.count(for: request) == 1)
    context.rollback()
    #expect(try count("Order", "total == 1") == 1)
    #expect(!context.hasChanges)
    context.delete(lines[2])
    #expect(try count("Shop", "sales == 3") == 1)
    try context.save()
    #expect(try count("Shop", "sales == 3") == 1)
  }

  // MARK: Conditions of SUBQUERY

  /// A model whose conditions read past the elements, and other objects of the object itself.
  private static func conditions() throws -> PersistentContainer {
    try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Shop",
        attributes: [
          try .derived("big", .int64, "SUBQUERY(orders, $o, ANY $o.lines.amount > 10).@count"),
          try .derived("above", .int64, "SUBQUERY(orders, $o, $o.rank > region.limit).@count"),
          try .derived("total", .int64, "SUBQUERY(orders, $o, $o.rank > 0).lines.@sum.amount"),
        ],
        relationships: [
          RelationshipDescription(name: "orders", destination: "Order", isToMany: true, inverse: "shop"),
          RelationshipDescription(name: "region", destination: "Region", inverse: "shops"),
        ]),
      EntityDescription(
        name: "Region", attributes: [AttributeDescription(name: "limit", type: .int64)],
        relationships: [
          RelationshipDescription(name: "shops", destination: "Shop", isToMany: true, inverse: "region")
        ]),
      EntityDescription(
        name: "Order", attributes: [AttributeDescription(name: "rank", type: .int64)],
        relationships: [
          RelationshipDescription(name: "shop", destination: "Shop", inverse: "orders"),
          RelationshipDescription(name: "lines", destination: "Line", isToMany: true, inverse: "order"),
        ]),
      EntityDescription(
        name: "Line", attributes: [AttributeDescription(name: "amount", type: .int64)],
        relationships: [RelationshipDescription(name: "order", destination: "Order", inverse: "lines")]),
    ])
  }

  @Test func aConditionThatReadsPastTheElementsIsFollowed() throws {
    let container = try Self.conditions()
    let context = container.newContext()
    let shop = try context.insert(entityNamed: "Shop")
    let region = try context.insert(entityNamed: "Region")
    try region.setValue(5, forKey: "limit")
    try shop.setValue(region, forKey: "region")
    let order = try context.insert(entityNamed: "Order")
    try order.setValue(3, forKey: "rank")
    try order.setValue(shop, forKey: "shop")
    let line = try context.insert(entityNamed: "Line")
    try line.setValue(1, forKey: "amount")
    try line.setValue(order, forKey: "order")
    try context.save()
    func stored() throws -> [PropertyValue] {
      let other = container.newContext()
      let object = try other.existingObject(with: shop.objectID)
      return try ["big", "above", "total"].map { try object.value(forKey: $0) }
    }
    func expected(_ big: Int64, _ above: Int64, _ total: Int64) -> [PropertyValue] {
      [.attribute(.int(big)), .attribute(.int(above)), .attribute(.int(total))]
    }
    func count(_ format: String) throws -> Int {
      try context.count(
        for: FetchRequest<ManagedObject>(entityName: "Shop", where: try FetchPredicate(format: format)))
    }
    #expect(try stored() == expected(0, 0, 1))

    try line.setValue(11, forKey: "amount")
    #expect(try count("big == 1 AND total == 11") == 1)
    try context.save()
    #expect(try stored() == expected(1, 0, 11))
    try region.setValue(2, forKey: "limit")
    #expect(try count("above == 1") == 1)
    try context.save()
    #expect(try stored() == expected(1, 1, 11))

    func update(_ entity: String, _ name: String, to number: Int64) throws {
      let all = FetchRequest<ManagedObject>(entityName: entity)
      try context.execute(BatchUpdateRequest(all, set: [.set(name, to: .attribute(.int(number)))]))
    }
    try update("Line", "amount", to: 7)
    #expect(try stored() == expected(0, 1, 7))
    try update("Region", "limit", to: 9)
    #expect(try stored() == expected(0, 0, 7))
  }

  // MARK: Enumerations

  private static let levels = EnumDescription(
    name: "Level", rawType: .int16,
    cases: [.init(name: "low", rawValue: .int(0)), .init(name: "high", rawValue: .int(1))])

  /// The model keeps a derivation as written. Only a checked one has the raw values of the cases that it names.
  @Test func namesOfCasesStandForTheirRawValues() throws {
    let entities = [
      EntityDescription(
        name: "Book",
        attributes: [
          AttributeDescription(name: "level", type: .enumeration("Level")),
          AttributeDescription(name: "number", type: .int64),
          try .derived("rank", .int64, "TERNARY(level == 'high', 7, 8)"),
          try .derived("better", .enumeration("Level"), "TERNARY(number > 5, 'high', 'low')"),
          try .derived("taken", .enumeration("Level"), "CAST(number, 'Level', nil)"),
          try .derived("best", .int64, "SUBQUERY(parts, $p, $p.level == 'high').@count"),
        ],
        relationships: [
          RelationshipDescription(name: "parts", destination: "Book", isToMany: true, inverse: "whole"),
          RelationshipDescription(name: "whole", destination: "Book", inverse: "parts"),
        ])
    ]
    let version = ModelVersion(number: 1, enums: [Self.levels], entities: entities)
    let container = try PersistentContainer(
      scratchModel: ManagedObjectModel(
        name: "Books", id: UUID(), versions: [version], currentVersionNumber: 1))
    let context = container.newContext()
    let numbers: [(level: Int64, number: Int64)] = [(1, 9), (0, 1)]
    let books = try numbers.map { level, number in
      let book = try context.insert(entityNamed: "Book")
      try book.setValue(.attribute(.int(level)), forKey: "level")
      try book.setValue(.attribute(.int(number)), forKey: "number")
      return book
    }
    try books[0].setValue(.object(books[1]), forKey: "whole")
    try context.save()
    func values(_ book: ManagedObject) throws -> [PropertyValue] {
      let stored = try container.newContext().existingObject(with: book.objectID)
      return try ["rank", "better", "taken", "best"].map { try stored.value(forKey: $0) }
    }
    let first = try values(books[0])
    let second = try values(books[1])
    #expect(first == [.attribute(.int(7)), .attribute(.int(1)), .attribute(.null), .attribute(.int(0))])
    #expect(second == [.attribute(.int(8)), .attribute(.int(0)), .attribute(.int(1)), .attribute(.int(1))])
    #expect(try container.persistentStoreCoordinator.verify() == [])
    let entity = container.persistentStoreCoordinator.managedObjectModel.currentVersion?.entities.first
    let rank = entity?.attributes.first { $0.name == "rank" }?.derivation
    #expect(rank?.canonicalText == "TERNARY(level == \"high\", 7, 8)")
  }

  // MARK: Literals

  /// The literals take the types of the attributes, even if these are nil, and a sum of nothing has the type of the values.
  @Test func literalsHaveTheTypesThatTheCheckerGivesThem() throws {
    let container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Order",
        attributes: [
          AttributeDescription(name: "price", type: .decimal, isOptional: true),
          AttributeDescription(name: "weight", type: .double, isOptional: true),
          AttributeDescription(name: "paid", type: .bool, isOptional: true),
          try .derived("gross", .decimal, "(price ?? 0) * 1.19"),
          try .derived("total", .decimal, "lines.@sum.amount * 1.19"),
          try .derived("other", .decimal, "price ?? 0.5"),
          try .derived("constant", .decimal, "0.5"),
          try .derived("half", .double, "(weight ?? 1) / 2"),
          try .derived("mean", .double, "(lines.@sum.weight + 1) / 2"),
          try .derived("number", .int16, "paid ?? 0"),
        ],
        relationships: [
          RelationshipDescription(name: "lines", destination: "Line", isToMany: true, inverse: "order")
        ]),
      EntityDescription(
        name: "Line",
        attributes: [
          AttributeDescription(name: "amount", type: .decimal),
          AttributeDescription(name: "weight", type: .double),
        ],
        relationships: [RelationshipDescription(name: "order", destination: "Order", inverse: "lines")]),
    ])
    let context = container.newContext()
    let order = try context.insert(entityNamed: "Order")
    try order.setValue(.attribute(.bool(true)), forKey: "paid")
    try context.save()
    let stored = try container.newContext().existingObject(with: order.objectID)
    func value(_ key: String) throws -> AttributeValue? { try stored.value(forKey: key).attribute }
    let half = try #require(Decimal(string: "0.5"))
    #expect(try value("gross") == .decimal(0))
    #expect(try value("total") == .decimal(0))
    #expect(try value("other") == .decimal(half))
    #expect(try value("constant") == .decimal(half))
    #expect(try value("half") == .double(0.5))
    #expect(try value("mean") == .double(0.5))
    #expect(try value("number") == .int(1))
    let request = FetchRequest<ManagedObject>(
      entityName: "Order", where: try FetchPredicate(format: "(weight ?? 1) / 2 > 0.4"))
    #expect(try container.newContext().count(for: request) == 1)
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }
}
