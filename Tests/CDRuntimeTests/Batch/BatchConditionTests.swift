import CDRuntime
import Foundation
import Testing

/// A batch chooses and calculates by what there was before it, also where a condition reads other rows of the table that
/// it changes.
@Suite struct BatchConditionTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  /// A chain: each has the one before it for its parent.
  private let nodes: [ManagedObject]

  init() throws {
    container = try PersistentContainer(scratchOf: [
      EntityDescription(
        name: "Node", attributes: [AttributeDescription(name: "value", type: .int32, isOptional: true)],
        relationships: [
          RelationshipDescription(name: "children", destination: "Node", isToMany: true, inverse: "parent"),
          RelationshipDescription(name: "parent", destination: "Node", inverse: "children"),
        ]),
      // Nothing has to be looked at where one goes: a single statement deletes.
      EntityDescription(
        name: "Link", attributes: [AttributeDescription(name: "value", type: .int32, isOptional: true)],
        relationships: [RelationshipDescription(name: "next", destination: "Link")]),
    ])
    context = container.newContext()
    nodes = try Self.chain("Node", "parent", in: context)
    try context.save()
  }

  private static func chain(
    _ entity: String, _ key: String, in context: ManagedObjectContext
  ) throws -> [ManagedObject] {
    var nodes: [ManagedObject] = []
    for number in 0..<6 {
      let node = try context.insert(entityNamed: entity)
      if number == 0 { try node.setValue(2, forKey: "value") }
      if let last = nodes.last { try node.setValue(last, forKey: key) }
      nodes.append(node)
    }
    return nodes
  }

  private func values(_ nodes: [ManagedObject]) throws -> [Int64?] {
    let context = container.newContext()
    return try nodes.map {
      if case .attribute(.int(let number)) = try context.existingObject(with: $0.objectID).value(
        forKey: "value")
      {
        number
      } else {
        nil
      }
    }
  }

  private func update(_ format: String, _ value: BatchAssignment<ManagedObject>) throws -> Int {
    let request = FetchRequest<ManagedObject>(
      entityName: "Node", where: try FetchPredicate(format: format))
    return try context.execute(BatchUpdateRequest<ManagedObject>(request, set: [value])).count
  }

  @Test func aConditionOnAParentReadsItsFormerValue() throws {
    #expect(try update("parent.value != nil", .set("value", to: .attribute(.int(-1)))) == 1)
    #expect(try values(nodes) == [2, -1, nil, nil, nil, nil])
  }

  @Test(arguments: [
    "ANY children.value == nil", "children.@count == 1", "SUBQUERY(children, $c, $c.value == nil).@count > 0",
    "children.@max.value == nil", "parent.parent.value == nil",
  ])
  func aConditionOnOthersReadsTheirFormerValues(format: String) throws {
    let request = FetchRequest<ManagedObject>(entityName: "Node", where: try FetchPredicate(format: format))
    let chosen = Set(try context.fetch(request))
    #expect(try update(format, .set("value", to: .attribute(.int(7)))) == chosen.count)
    #expect(try values(nodes) == nodes.enumerated().map { chosen.contains($1) ? 7 : $0 == 0 ? 2 : nil })
  }

  @Test func aConditionOnTheReferenceThatIsSetReadsTheFormerOne() throws {
    #expect(try update("parent == nil OR parent.parent == nil", .set("parent", to: .object(nil))) == 2)
    let roots = try context.count(
      for: FetchRequest<ManagedObject>(entityName: "Node", where: try FetchPredicate(format: "parent == nil"))
    )
    #expect(roots == 2)
  }

  @Test(arguments: ["parent.value", "children.@sum.value", "children.@count + 1", "parent.value + 0"])
  func aCalculationReadsFormerValues(format: String) throws {
    for (number, node) in nodes.enumerated() { try node.setValue(Int32(number) * 10, forKey: "value") }
    try context.save()
    let expression = try ValueExpression(format: format)
    let evaluator = PredicateEvaluator()
    let expected = try nodes.map { node -> Int64? in
      if case .value(.int(let number)) = try evaluator.value(of: expression, for: node) {
        number
      } else {
        nil
      }
    }
    #expect(try update("value >= 0", .set("value", to: expression)) == 6)
    #expect(try values(nodes) == expected)
  }

  @Test(arguments: ["Node", "Link"]) func aDeletionsConditionReadsWhatThereWas(entity: String) throws {
    let key = entity == "Node" ? "parent" : "next"
    let nodes = entity == "Node" ? self.nodes : try Self.chain(entity, key, in: context)
    try context.save()
    func delete(_ format: String) throws -> Int {
      let request = FetchRequest<ManagedObject>(entityName: entity, where: try FetchPredicate(format: format))
      return try context.execute(BatchDeleteRequest<ManagedObject>(request)).count
    }
    // The deletion clears the reference of the next one.
    #expect(try delete("\(key) == nil") == 1)
    #expect(nodes[0].isInaccessible && !nodes[1].isInaccessible)
    #expect(try delete("\(key) != nil AND \(key).\(key) == nil") == 1)
    #expect(nodes[2].isInaccessible && !nodes[3].isInaccessible)
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: entity)) == 4)
  }
}
