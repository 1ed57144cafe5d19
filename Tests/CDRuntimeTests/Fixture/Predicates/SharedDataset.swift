import CDRuntime
import Foundation
import PredicateCases

/// A dataset of `datasets.json`: a model and the rows of its entities, related to each other.
struct SharedDataset {
  let name: String
  let version: ModelVersion
  let rows: [String: [SharedRow]]

  /// All datasets by name.
  static func all() throws -> [String: SharedDataset] {
    Dictionary(uniqueKeysWithValues: try PredicateDataset.all().map { ($0, SharedDataset($0, $1)) })
  }

  private init(_ name: String, _ source: PredicateDataset) {
    self.name = name
    var version = source.version
    // A value of a type of the app's own is bytes here, for there is no such type.
    for entity in version.entities.indices {
      for attribute in version.entities[entity].attributes.indices {
        if case .codable = version.entities[entity].attributes[attribute].type {
          version.entities[entity].attributes[attribute].type = .data
        }
      }
    }
    self.version = version
    var rows: [String: [SharedRow]] = [:]
    for entity in version.entities {
      rows[entity.name] = (source.rows[entity.name] ?? []).map { SharedRow(entity, $0) }
    }
    self.rows = rows
    var known: [String: SharedRow] = [:]
    for row in rows.values.joined() { known["\(row.entity.name)/\(row.id)"] = row }
    for row in rows.values.joined() { row.relate(known) }
    for row in rows.values.joined() { row.completeInverses(rows) }
  }
}

/// A row of a dataset as an object.
final class SharedRow: EvaluationSubject {
  let entity: EntityDescription
  let id: String
  private let source: [String: Any]
  private(set) var attributes: [String: AttributeValue] = [:]
  private(set) var toOne: [String: SharedRow] = [:]
  private(set) var toMany: [String: [SharedRow]] = [:]

  init(_ entity: EntityDescription, _ source: [String: Any]) {
    self.entity = entity
    self.source = source
    id = source["id"] as? String ?? ""
    for attribute in entity.attributes {
      attributes[attribute.name] = Self.value(source[attribute.name], attribute.type)
    }
  }

  private static func value(_ source: Any?, _ type: AttributeType) -> AttributeValue {
    guard let source, case .value(let value) = ExpressionConstant(tagged: source) else { return .null }
    switch (type, value) {
    case (.float, .double(let number)): return .double(Double(Float(number)))
    case (.float, .int(let number)), (.double, .int(let number)): return .double(Double(number))
    case (.decimal, .int(let number)): return .decimal(Decimal(number))
    case (.bool, .int(let number)): return .bool(number != 0)
    default: return value
    }
  }

  func relate(_ known: [String: SharedRow]) {
    for relationship in entity.relationships {
      func row(_ id: String) -> SharedRow? { known["\(relationship.destination)/\(id)"] }
      if let id = source[relationship.name] as? String { toOne[relationship.name] = row(id) }
      if let ids = source[relationship.name] as? [String] {
        toMany[relationship.name] = ids.compactMap(row)
      }
    }
  }

  /// Fills in what the other side of a relationship alone was given.
  func completeInverses(_ rows: [String: [SharedRow]]) {
    for relationship in entity.relationships {
      guard let inverse = relationship.inverse else { continue }
      let others = (rows[relationship.destination] ?? []).filter { other in
        other.toOne[inverse] === self || other.toMany[inverse]?.contains { $0 === self } == true
      }
      if relationship.isToMany {
        let known = toMany[relationship.name] ?? []
        toMany[relationship.name] = known + others.filter { other in !known.contains { $0 === other } }
      } else if toOne[relationship.name] == nil {
        toOne[relationship.name] = others.first
      }
    }
  }

  func evaluationValue(forKey key: String) throws(EvaluationError) -> EvaluationValue {
    if let attribute = entity.attributes.first(where: { $0.name == key }) {
      let value = attributes[key] ?? .null
      if attribute.type == .float, case .double(let number) = value { return .float(Float(number)) }
      return .value(value)
    }
    if let relationship = entity.relationships.first(where: { $0.name == key }) {
      if relationship.isToMany { return .collection((toMany[key] ?? []).map { .subject($0) }) }
      return toOne[key].map { .subject($0) } ?? .null
    }
    throw .unknownKey(key, entity: entity.name)
  }

  var evaluationIdentity: ObjectReference? {
    ObjectReference(entity: entity.name, uri: "\(entity.name)/\(id)")
  }
}
