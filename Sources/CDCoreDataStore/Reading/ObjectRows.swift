import CDModel
import CDRuntime

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The objects of one entity, without its subentities, in the order of their keys.
struct ObjectRows {
  /// The source of a column of the new store, by the indexes of the statement's columns.
  private enum Part {
    case nothing
    /// A mandatory relationship that Core Data does not store.
    case missing(name: String)
    /// The slot identifies the composite of a field.
    case value(Int, ValueReader, name: String, slot: Int)
    case reference(Int, Reference)
    case position(Int, name: String)
  }

  /// A to-one relationship, with the information that the destination's row gives.
  private struct Reference {
    var name: String
    var title: String
    var isMandatory: Bool
    /// Whether the store keeps a reference that leads to no object.
    var mayDangle: Bool
    /// The numbers of the entities that the object may have.
    var kinds: Set<Int64>
    /// Whether the relationship is one-to-one. The new store then allows only one reference to each object.
    var isOneToOne: Bool
    /// Whether the store has a column for the other side. It is the second column after the reference.
    var hasOtherSide = false
    /// Whether the relationship is its own inverse, so that both sides are rows of the same column.
    var isOwnInverse = false
    /// The objects that refer to rows which do not refer to them, by the keys of the rows.
    var otherSide: [Int64: Int64] = [:]
  }

  private let entity: String
  private let statement: SourceStatement
  private let url: URL
  private var last: Int64?
  private var parts: [Part] = []
  /// The statement's columns with the fields of each composite, by its slot.
  private var composites: [Int: [Int]] = [:]
  /// The row for the builder; nil if the object cannot be written.
  private(set) var row: [StoreValue]?

  /// Prepares the statement. Nil if the store has no objects for the table.
  init?(_ table: StoreTable, _ reading: StoreReading) throws(CoreDataStoreError) {
    let layout = reading.layout
    entity = table.name
    guard let number = layout.numbers[entity], let source = layout.table(of: entity) else { return nil }
    var list = ["t.Z_PK", "t.Z_OPT"]
    func add(_ expressions: String...) -> Int {
      list += expressions
      return list.count - expressions.count
    }
    let columns = layout.graph.columns(of: entity)
    var references: [String: StoreLayout.Property] = [:]
    for (column, target) in zip(columns, table.columns.dropFirst(2)) {
      let property = StoreLayout.Property(
        entity: column.entity, name: column.property.name, field: column.field?.name)
      guard let found = layout.columns[property] else {
        if case .relationship(let relationship) = column.property, !relationship.isOptional {
          parts.append(.missing(name: relationship.name))
        } else {
          parts.append(.nothing)
        }
        continue
      }
      let own = "t." + SQLText.quoted(found)
      guard case .relationship(let relationship) = column.property else {
        guard let reader = ValueReader(column, layout.graph, reading.records) else {
          parts.append(.nothing)
          continue
        }
        let place = add(own)
        if column.field != nil { composites[column.slot, default: []].append(place) }
        parts.append(.value(place, reader, name: column.name, slot: column.slot))
        continue
      }
      references[target.name + ".position"] = property
      let (described, ofTarget) = Self.reference(relationship, of: column.entity, own, layout)
      var reference = described
      reference.otherSide = reading.otherSides[property] ?? [:]
      let place = add(own)
      for expression in ofTarget { _ = add(expression) }
      parts.append(.reference(place, reference))
    }
    for target in table.columns.dropFirst(2 + columns.count) {
      guard let property = references[target.name], let found = layout.positions[property] else {
        parts.append(.nothing)
        continue
      }
      parts.append(.position(add("t." + SQLText.quoted(found)), name: target.name))
    }
    url = reading.database.url
    // An index may lack rows of a damaged table, which `quick_check` does not notice.
    statement = try reading.database.statement(
      "SELECT \(list.joined(separator: ", ")) FROM \(SQLText.quoted(source)) t NOT INDEXED "
        + "WHERE \(layout.number(ofRow: "t", in: entity)) = \(number) ORDER BY t.Z_PK", values: list.count)
  }

  /// A to-one relationship, with SQL for the destination row's entity and for its reference back.
  private static func reference(
    _ relationship: RelationshipDescription, of entity: String, _ own: String, _ layout: StoreLayout
  ) -> (Reference, [String]) {
    let graph = layout.graph
    let inverse = graph.inverse(of: relationship, in: entity)
    let kinds = [relationship.destination] + graph.descendants(of: relationship.destination).map(\.name)
    var reference = Reference(
      name: relationship.name, title: "'\(relationship.name)' of '\(entity)'",
      isMandatory: !relationship.isOptional, mayDangle: inverse?.deleteRule.leavesReferences == true,
      kinds: Set(kinds.compactMap { layout.numbers[$0] }), isOneToOne: inverse?.isToMany == false)
    guard let table = layout.table(of: relationship.destination) else { return (reference, ["NULL"]) }
    func ofTarget(_ value: String) -> String {
      "(SELECT \(value) FROM \(SQLText.quoted(table)) d WHERE d.Z_PK = \(own))"
    }
    var expressions = [ofTarget(layout.number(ofRow: "d", in: relationship.destination))]
    if let inverse, !inverse.isToMany,
      let owner = graph.declaringEntity(of: inverse.name, in: relationship.destination)?.name,
      let back = layout.columns[.init(entity: owner, name: inverse.name)]
    {
      reference.hasOtherSide = true
      reference.isOwnInverse = owner == entity && inverse.name == relationship.name
      expressions.append(ofTarget("d." + SQLText.quoted(back)))
    }
    return (reference, expressions)
  }

  // MARK: Rows

  /// Moves to the next object. Returns false if there is none.
  mutating func next(_ report: inout ReadingReport) throws(CoreDataStoreError) -> Bool {
    row = nil
    guard try statement.step() else { return false }
    // SQLite returns the rows in the order in which a damaged file has them.
    guard let key = statement.integer(0), last.map({ $0 < key }) ?? true else {
      throw .damaged(url, reason: "the rows of '\(entity)' are not in the order of their keys")
    }
    last = key
    let version = statement.integer(1).flatMap { UInt32(exactly: $0) } ?? 1
    var values: [StoreValue] = [.integer(key), .integer(Int64(version))]
    var isWhole = true
    for place in parts.indices {
      let value: StoreValue?
      switch parts[place] {
      case .nothing: value = .null
      case .missing(let name):
        value = nil
        report.lose(
          entity, key, name, "it is transient in Core Data, but mandatory here", isAcceptable: false)
      case .value(let column, let reader, let name, let slot):
        let isMandatory = reader.isMandatory || reader.isMandatoryField && hasComposite(slot)
        value = self.value(statement.value(column), reader, name, isMandatory: isMandatory, key, &report)
      case .position(let column, let name):
        value = position(statement.value(column), name, key, &report)
      case .reference(let column, let reference):
        value = self.reference(column, reference, key, &report)
      }
      guard let value else {
        isWhole = false
        continue
      }
      values.append(value)
    }
    // An object that cannot be written has been reported as a loss that cannot be accepted.
    if isWhole { row = values }
    return true
  }

  /// Whether the row has a composite: one of its fields has a value.
  private func hasComposite(_ slot: Int) -> Bool {
    composites[slot]?.contains { statement.value($0) != .null } ?? false
  }

  private func value(
    _ source: SourceValue, _ reader: ValueReader, _ name: String, isMandatory: Bool, _ key: Int64,
    _ report: inout ReadingReport
  ) -> StoreValue? {
    do throws(ValueReader.Problem) {
      let value = try reader.value(source)
      guard value == .null, isMandatory else {
        if value == .null, source != .null { report.notANumber["'\(name)' of '\(entity)'", default: 0] += 1 }
        if source == .null, reader.isMandatoryDerivation {
          report.notDerived["'\(name)' of '\(entity)'", default: 0] += 1
        }
        return value
      }
      if reader.hasDefault, let substitute = reader.substitute {
        report.defaults["'\(name)' of '\(entity)'", default: 0] += 1
        return substitute
      }
      report.lose(
        entity, key, name, "it has no value, but is mandatory and has no default",
        isAcceptable: !reader.isMandatory || reader.substitute != nil)
    } catch {
      report.lose(
        entity, key, name, error.reason, isAcceptable: !reader.isMandatory || reader.substitute != nil)
      if !isMandatory { return .null }
    }
    if let substitute = reader.substitute { return substitute }
    return reader.isMandatory ? nil : .null
  }

  private func position(
    _ source: SourceValue, _ name: String, _ key: Int64, _ report: inout ReadingReport
  ) -> StoreValue {
    switch source {
    case .null, .integer: return source.stored
    default:
      report.lose(entity, key, name, "\(source.kind), which is not a position in an order")
      return .null
    }
  }

  private func reference(
    _ column: Int, _ reference: Reference, _ key: Int64, _ report: inout ReadingReport
  ) -> StoreValue? {
    func lost(_ reason: String) -> StoreValue? {
      report.lose(entity, key, reference.name, reason, isAcceptable: !reference.isMandatory)
      return reference.isMandatory ? nil : .null
    }
    /// Whether no reference to the target has been accepted before that does not lead back either.
    func isFree(_ target: Int64) -> Bool {
      report.taken[reference.title, default: []].insert(target).inserted
    }
    switch statement.value(column) {
    // Keys begin at 1. Core Data writes 0 for no object.
    case .null, .integer(0):
      if let target = reference.otherSide[key] {
        report.repaired[reference.title, default: 0] += 1
        return .integer(target)
      }
      return reference.isMandatory ? lost("it has no object, but is mandatory") : .null
    case .integer(let target):
      guard let kind = statement.integer(column + 1) else {
        guard reference.mayDangle, !reference.isOneToOne || isFree(target) else {
          return lost("its object, p\(target), does not exist")
        }
        return .integer(target)
      }
      guard reference.kinds.contains(kind) else {
        return lost("its object, p\(target), has an entity that the relationship does not allow")
      }
      guard reference.isOneToOne else { return .integer(target) }
      switch reference.hasOtherSide ? statement.value(column + 2) : .null {
      case .integer(key): return .integer(target)
      case .null, .integer(0):
        // The other side is a row of its own, which is copied without the reference.
        if reference.isOwnInverse { return lost("its object, p\(target), does not refer back to it") }
        guard isFree(target) else {
          return lost("its object, p\(target), belongs to another object already")
        }
        if reference.hasOtherSide { report.repaired[reference.title, default: 0] += 1 }
        return .integer(target)
      default: return lost("its object, p\(target), refers to another object")
      }
    case let other: return lost("\(other.kind), which is not the number of an object")
    }
  }
}
