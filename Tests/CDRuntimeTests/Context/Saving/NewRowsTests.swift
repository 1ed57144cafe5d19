import CDRuntime
import Foundation
import Testing

/// Saves of more new objects than one statement inserts.
@Suite struct NewRowsTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try PersistentContainer(
      scratchOf: [
        EntityDescription(
          name: "Item",
          attributes: [
            AttributeDescription(name: "code", type: .int64),
            AttributeDescription(name: "text", type: .string, isOptional: true),
            AttributeDescription(name: "data", type: .data, isOptional: true),
          ], uniquenessConstraints: [["code"]]),
        EntityDescription(
          name: "Wide",
          attributes: (0..<1500).map {
            AttributeDescription(name: "a\($0)", type: .int64, isOptional: true)
          }),
      ])
    context = container.newContext()
  }

  @discardableResult
  private func make(_ code: Int, text: String? = nil, data: Data? = nil) throws -> ManagedObject {
    let object = try context.insert(entityNamed: "Item")
    try object.setValue(Int64(code), forKey: "code")
    try object.setValue(.attribute(text.map(AttributeValue.string) ?? .null), forKey: "text")
    try object.setValue(.attribute(data.map(AttributeValue.data) ?? .null), forKey: "data")
    return object
  }

  private func stored() throws -> [Int64: (text: AttributeValue?, data: AttributeValue?)] {
    let objects = try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Item"))
    var result: [Int64: (text: AttributeValue?, data: AttributeValue?)] = [:]
    for object in objects {
      guard case .attribute(.int(let code)) = try object.value(forKey: "code") else { continue }
      #expect(result[code] == nil)
      result[code] = (
        attribute(try object.value(forKey: "text")), attribute(try object.value(forKey: "data"))
      )
    }
    return result
  }

  private func attribute(_ value: PropertyValue?) -> AttributeValue? {
    if case .attribute(let value)? = value { value } else { nil }
  }

  /// No row may get a neighbour's value, whether SQLite copies a value or not.
  @Test(arguments: [1, 9, 10, 11, 20, 47, 200])
  func eachRowHasItsOwnValues(count: Int) throws {
    func text(_ code: Int) -> String? {
      switch code % 7 {
      case 0: nil
      case 1: ""
      // Longer than all values that a writer keeps for a statement.
      case 2: String(repeating: "\(code) ", count: code == 16 ? 30_000 : 3)
      default: "Number \(code)"
      }
    }
    func data(_ code: Int) -> Data? {
      code % 5 == 0 ? nil : Data(repeating: UInt8(code % 256), count: code % 11 == 3 ? 5000 : code % 3)
    }
    for code in 0..<count { try make(code, text: text(code), data: data(code)) }
    try context.save()
    let stored = try stored()
    #expect(stored.count == count)
    for code in 0..<count {
      let found = try #require(stored[Int64(code)])
      #expect(found.text == text(code).map(AttributeValue.string) ?? .null)
      #expect(found.data == data(code).map(AttributeValue.data) ?? .null)
    }
    #expect(try container.persistentStoreCoordinator.verify() == [])
  }

  /// The places of refused rows within a statement: first, last, neighbours, all.
  @Test(arguments: [[0], [9], [10], [4, 5, 6], [0, 9, 10, 19, 20, 29, 30, 36], Array(0..<37)])
  func refusedRowsLeaveTheOthersAlone(taken: [Int]) throws {
    for code in taken { try make(code, text: "old") }
    try context.save()
    let new = try (0..<37).map { try make($0, text: "new") }
    do {
      try context.save()
      Issue.record("the save succeeds")
    } catch SaveError.notUnique(let conflicts) {
      #expect(Set(conflicts.flatMap(\.objectIDs)).isSuperset(of: taken.map { new[$0].objectID }))
      #expect(conflicts.count == taken.count)
    }
    #expect(try Set(stored().keys) == Set(taken.map { Int64($0) }))
    context.mergePolicy = .rollback
    try context.save()
    let stored = try stored()
    for code in 0..<37 {
      #expect(stored[Int64(code)]?.text == .string(taken.contains(code) ? "old" : "new"))
    }
    #expect(stored.count == 37)
  }

  /// The rows of one save refuse each other.
  @Test func rowsOfOneStatementAreCompared() throws {
    for place in 0..<30 { try make(place == 17 ? 12 : place) }
    #expect(throws: SaveError.self) { try context.save() }
    #expect(try stored().isEmpty)
  }

  /// SQLite limits the number of a statement's parameters.
  @Test func entitiesWithManyColumnsAreSaved() throws {
    for number in 0..<25 {
      try context.insert(entityNamed: "Wide").setValue(Int64(number), forKey: "a1499")
    }
    try context.save()
    let request = FetchRequest<ManagedObject>(entityName: "Wide")
    let values = try container.newContext().fetch(request).map { attribute(try $0.value(forKey: "a1499")) }
    #expect(Set(values) == Set((0..<25).map { .int($0) }))
  }
}
