import CDRuntime
import Foundation
import Testing

/// Unique values that change places in one save, for each kind of column.
@Suite struct UniqueSwapTests {
  private static let model: ManagedObjectModel = {
    let entity = EntityDescription(
      name: "Seat",
      attributes: [
        AttributeDescription(name: "number", type: .int64, isOptional: true),
        AttributeDescription(name: "weight", type: .double, isOptional: true),
        AttributeDescription(name: "place", type: .composite("Place"), isOptional: true),
        AttributeDescription(name: "name", type: .string, isOptional: true),
      ],
      uniquenessConstraints: [["number"], ["weight"], ["place.row"]])
    let place = CompositeDescription(
      name: "Place", fields: [AttributeDescription(name: "row", type: .int16, isOptional: true)])
    return ManagedObjectModel(
      name: "Seats", id: UUID(),
      versions: [ModelVersion(number: 1, composites: [place], entities: [entity])], currentVersionNumber: 1)
  }()

  private func swap(_ key: String, _ one: AttributeValue, _ other: AttributeValue) throws {
    let container = try PersistentContainer(scratchModel: Self.model)
    let context = container.newContext()
    let seats = try [one, other].map { value in
      let seat = try context.insert(entityNamed: "Seat")
      try seat.setValue(.attribute(value), forKey: key)
      return seat
    }
    try context.save()
    try seats[0].setValue(.attribute(other), forKey: key)
    try seats[1].setValue(.attribute(one), forKey: key)
    try context.save()
    let read = container.newContext()
    let found = try seats.map { try read.existingObject(with: $0.objectID).value(forKey: key) }
    #expect(found == [.attribute(other), .attribute(one)])
  }

  @Test func theLeastIntegerSwaps() throws { try swap("number", .int(.min), .int(5)) }

  // Where one less is the same number.
  @Test(arguments: [-1e300, -9_007_199_254_740_994, 0.5])
  func numbersOfAnySizeSwap(_ number: Double) throws { try swap("weight", .double(number), .double(7)) }

  @Test func fieldsOfCompositesSwap() throws {
    try swap("place", .composite(["row": .int(1)]), .composite(["row": .int(2)]))
  }

  @Test func conflictsAreReportedBesideAValueThatIsTaken() throws {
    let container = try PersistentContainer(scratchModel: Self.model)
    let context = container.newContext()
    let seats = try (1...3).map { number in
      let seat = try context.insert(entityNamed: "Seat")
      try seat.setValue(number, forKey: "number")
      return seat
    }
    try context.save()
    let other = container.newContext()
    try other.existingObject(with: seats[2].objectID).setValue("theirs", forKey: "name")
    try other.save()
    try seats[0].setValue(2, forKey: "number")
    try seats[2].setValue("ours", forKey: "name")
    let conflict = SaveConflict(reason: .changed, objectID: seats[2].objectID, keys: ["name"])
    #expect(throws: SaveError.conflict([conflict])) { try context.save() }
    context.refresh(seats[2], mergeChanges: true)
    let taken = UniquenessConflict(
      entity: "Seat", properties: ["number"], objectIDs: [seats[0].objectID, seats[1].objectID])
    #expect(throws: SaveError.notUnique([taken])) { try context.save() }
  }

  @Test func everyListThatARowBreaksIsReported() throws {
    let container = try PersistentContainer(scratchModel: Self.model)
    let context = container.newContext()
    func seat(_ number: Int, _ weight: Double?, row: Int64) throws -> ManagedObject {
      let seat = try context.insert(entityNamed: "Seat")
      try seat.setValue(number, forKey: "number")
      if let weight { try seat.setValue(weight, forKey: "weight") }
      try seat.setValue(.attribute(.composite(["row": .int(row)])), forKey: "place")
      return seat
    }
    let seats = try [seat(1, 1.5, row: 1), seat(2, nil, row: 2)]
    try context.save()
    let new = try seat(1, nil, row: 2)
    #expect(
      throws: SaveError.notUnique([
        UniquenessConflict(
          entity: "Seat", properties: ["number"], objectIDs: [new.objectID, seats[0].objectID]),
        UniquenessConflict(
          entity: "Seat", properties: ["place.row"], objectIDs: [new.objectID, seats[1].objectID]),
      ])
    ) { try context.save() }
  }
}
