import Foundation

@testable import CDRuntime

// Steps that insert objects and set attributes.
extension RandomWorld {
  /// Mostly with what a save asks for, so that most saves succeed.
  func insert(_ entity: String, _ pick: Int, _ side: RandomSide) throws {
    let object = try side.context.insert(entityNamed: entity)
    let number = adopt(object, by: side)
    side.graph.insert(number, entity, key: object.key)
    guard pick % 8 > 0 else { return }
    for attribute in stored.model.attributes(of: entity)
    where !attribute.isOptional && attribute.defaultValue == nil {
      try set(number, attribute, 1 + pick % 6, side)
    }
    if stored.model.isKind(entity, of: "Node"), pick % 2 == 0 {
      try setCode(number, .string("c\(number)"), side)
    }
    for relation in stored.model.relations(of: entity) where !relation.isOptional {
      guard let other = self.pick(pick, side, relation.destination) else { continue }
      try object.setValue(self.object(other, side), forKey: relation.name)
      side.graph.connect(number, relation, other)
    }
  }

  func set(_ number: Int, _ attribute: AttributeDescription, _ value: Int, _ side: RandomSide) throws {
    let new: AttributeValue
    let isNull = value % (attribute.isOptional ? 7 : 49) == 0
    if attribute.type == .string {
      // Few codes, so that they meet.
      let names =
        attribute.name == "code" ? ["u", "v", "w", "x", "y", "z", "ü", "u\u{308}", "😀"] : RandomFetch.names
      new = isNull ? .null : .string(names[value % names.count])
    } else {
      new = isNull ? .null : .int(Int64(value % 4))
    }
    try object(number, side).setValue(.attribute(new), forKey: attribute.name)
    side.graph.set(number, attribute.name, new)
  }

  /// Exchanges two unique values, which a save can only write with a third in between.
  func swapCodes(_ row: Int, _ other: Int, _ side: RandomSide) throws {
    let coded = side.graph.live("Node").filter { side.graph.rows[$0]?.attributes["code"] != nil }
    guard !coded.isEmpty else { return }
    let numbers = [coded[row % coded.count], coded[other % coded.count]]
    let codes = numbers.map { side.graph.rows[$0]?.attributes["code"] ?? .null }
    for (number, code) in zip(numbers, codes.reversed()) { try setCode(number, code, side) }
  }

  private func setCode(_ number: Int, _ code: AttributeValue, _ side: RandomSide) throws {
    try object(number, side).setValue(.attribute(code), forKey: "code")
    side.graph.set(number, "code", code)
  }
}
