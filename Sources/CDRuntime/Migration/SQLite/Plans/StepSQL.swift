import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension StepPlan {
  /// The name of the new store's database on the connection to the old store.
  static let schema = "fresh"
  /// The table that records which destination objects were created from which source objects.
  static let associations = "temp._cdgen_associations"
}

extension StepPlan.SourceMapping {
  /// The temporary table with the keys of the chosen objects and their evaluated values; nil if neither is needed.
  @_optimize(none)
  var selectionTable: String? {
    isCustom || isUnrestricted && evaluations.allSatisfy { $0.isPair } ? nil : "temp.\"chosen_\(number)\""
  }
}

// The source rows, and the sources of attribute values.
extension StepPlan {
  /// The condition that a row belongs to a source mapping's source and is migrated; nil if all rows of the table are.
  @_optimize(none)
  func condition(_ sourceMapping: SourceMapping, _ alias: String) -> String? {
    var parts: [String] = []
    if sourceMapping.source.hasEntityColumn {
      parts.append("\(alias)._entity = \(SQLText.literal(sourceMapping.source.name))")
    }
    if let selection = sourceMapping.selectionTable {
      parts.append("\(alias)._pk IN (SELECT pk FROM \(selection))")
    }
    if sourceMapping.isCustom {
      let table = "\(Self.schema).\(SQLText.quoted(sourceMapping.destination.table))"
      let own =
        sourceMapping.destination.hasEntityColumn
        ? " AND m._entity = \(SQLText.literal(sourceMapping.destination.name))" : ""
      parts.append(
        "EXISTS (SELECT 1 FROM \(table) AS m WHERE m._pk = \(alias)._pk + \(sourceMapping.offset)\(own))")
    }
    return parts.isEmpty ? nil : parts.joined(separator: " AND ")
  }

  /// A value as SQL; nil if the evaluator must compute it for each object.
  @_optimize(none)
  func sql(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping) -> SQLText? {
    if let old = copiedColumn(value, for: column, of: sourceMapping) {
      return "t0.\(raw: SQLText.quoted(old.name))"
    }
    switch value.kind {
    case .constant(.value(let constant)):
      return column.storageType.fitted(constant).map { "\(bind: $0)" }
    case .function(.now, _) where column.storageType == .date:
      return "\(bind: .date(now))"
    case .cast(let inner, .attribute(let type), _):
      // These conversions succeed for every value in SQL, so the fallback of the cast is never needed.
      if StorageType(type, in: destination.graph) == column.storageType,
        let old = sourceColumn(inner, of: sourceMapping.source), !isExternal(old, in: sourceMapping.source),
        let converted = Self.converted(
          "t0.\(raw: SQLText.quoted(old.name))", old.storageType, to: column.storageType)
      {
        return converted
      }
      return compiled(value, for: column, of: sourceMapping)
    case .coalesced(let values):
      var parts: [SQLText] = []
      for value in values {
        guard let part = sql(value, for: column, of: sourceMapping) else { return nil }
        parts.append(part)
      }
      guard parts.count > 1, parts.count <= 100 else { return parts.first }
      return "coalesce(\(SQLText.joined(parts, ", ")))"
    default:
      return compiled(value, for: column, of: sourceMapping)
    }
  }

  @_optimize(none)
  private func compiled(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping)
    -> SQLText?
  {
    var compiler = SQLCompiler(
      entity: sourceMapping.source, model: source, variables: [:], now: now,
      key: SQLPredicate.keys(in: source), dialect: .sqlite)
    // If the compiler throws, the evaluator throws too, and its error names the row.
    let operand: SQLOperand? = (try? compiler.operand(value)) ?? nil
    guard case .value(let result)? = operand,
      compiler.dialect.acceptsTerm(result.sql), result.sql.bindings.count <= 1000
    else { return nil }
    let sql: SQLText? =
      switch (result.kind, column.storageType) {
      case (.int(let range), .bool): range.lowerBound >= 0 && range.upperBound <= 1 ? result.sql : nil
      case (.int(let range), let storageType):
        storageType.integerRange.map { limited(result.sql, range, to: $0, &compiler) }
          ?? (storageType == .double ? result.sql : nil)
      // A value of this type may be in a file.
      case (.data, _), (.opaque, _): nil
      case (let kind, let storageType): kind == SQLValue.Kind(storageType) ? result.sql : nil
      }
    guard let sql, compiler.mayFail else { return sql }
    mayFail = true
    return evaluatesAll ? nil : sql
  }

  /// Converts integers of a range to a narrower type.
  private func limited(
    _ sql: SQLText, _ range: ClosedRange<Int64>, to narrow: ClosedRange<Int64>, _ compiler: inout SQLCompiler
  ) -> SQLText {
    if narrow.contains(range.lowerBound), narrow.contains(range.upperBound) { return sql }
    compiler.mayFail = true
    return PredicateFunctions.limited(sql, to: narrow)
  }

  /// The conversion as SQL, if SQL gives the same result as the evaluator; otherwise nil.
  @_optimize(none)
  private static func converted(_ value: SQLText, _ old: StorageType, to new: StorageType) -> SQLText? {
    switch (old, new) {
    case (let old, let new) where old == new: value
    case (.float, .double), (.date, .double), (.uuid, .data): value
    case (.bool, let new) where new.integerRange != nil: value
    case (let old, .string) where old.integerRange != nil: "CAST(\(value) AS TEXT)"
    case (let old, let new):
      old.traits.flatMap { old in
        TypeRules.isExact(old.type, as: new == .date ? .double : new.traits?.type ?? .data) && new != .decimal
          ? value : nil
      }
    }
  }

  /// The value of a column of the destination, for rows `t0` of a source mapping's source.
  @_optimize(none)
  func value(of column: ColumnPlan, for sourceMapping: SourceMapping) -> SQLText {
    if column.isReference {
      guard let relationship = sourceMapping.destination.slots[column.slot].relationship else {
        return "NULL"
      }
      return reference(relationship, for: sourceMapping)
    }
    if isDerived(column, in: sourceMapping.destination) {
      return copiedDerived(column, for: sourceMapping).map { "t0.\(raw: SQLText.quoted($0.name))" } ?? "NULL"
    }
    let path = self.path(of: column, in: sourceMapping.destination)
    if let index = sourceMapping.evaluations.firstIndex(where: { $0.name == path && !$0.isPair }) {
      return "e.c\(raw: "\(index)")"
    }
    guard let value = sourceMapping.mapping.attributes.first(where: { $0.name == path })?.value else {
      return "NULL"
    }
    return sql(value, for: column, of: sourceMapping) ?? "NULL"
  }
}

// The sources of related objects.
extension StepPlan {
  /// A query for the pairs of a relationship in keys of the source: rows of `owner`, `target`, `position` and
  /// `inverse_position`.
  struct Pairs {
    let sql: String
    /// The source entity of the targets.
    let target: EntityPlan
    /// Whether a position can be other than NULL.
    var isOrdered = true
  }

  /// The pairs of a source mapping's relationship; nil if no rule gives the relationship pairs of its own.
  @_optimize(none)
  func pairs(of sourceMapping: SourceMapping, _ name: String) -> Pairs? {
    guard case .objects(let value)? = objects(of: sourceMapping, name) else { return nil }
    if let relationship = plainRelationship(value, of: sourceMapping.source) {
      return pairs(relationship, of: sourceMapping.source)
    }
    guard let target = sourceMapping.evaluations.first(where: { $0.name == name && $0.isPair })?.target else {
      return nil
    }
    return Pairs(
      sql:
        "SELECT owner, target, position, NULL AS inverse_position FROM temp.\"pairs_\(sourceMapping.number)_\(name)\"",
      target: target)
  }

  /// The pairs of a source relationship.
  @_optimize(none)
  func pairs(_ relationship: RelationshipPlan, of entity: EntityPlan) -> Pairs {
    let other = source.entities[relationship.destination]
    // An entity that comes from another store brings no objects, and no pairs.
    if source.owner(ofRowsOf: relationship).storeIndex != 0 {
      return Pairs(
        sql: "SELECT 0 AS owner, 0 AS target, NULL AS position, NULL AS inverse_position WHERE 0",
        target: other, isOrdered: false)
    }
    let (own, theirs) = (SQLText.quoted(entity.table), SQLText.quoted(other.table))
    let sql: String
    var isOrdered = relationship.isOrdered
    switch relationship.storage {
    case .reference(let column):
      let name = SQLText.quoted(entity.columns[column].name)
      let inverse = relationship.inverseSlot.flatMap { other.slots[$0].relationship }
      let position = inverse.flatMap { source.positionColumn(of: $0) }.map(SQLText.quoted) ?? "NULL"
      // Without a guarantee in the source, the reference may lead to no row.
      let isThere =
        relationship.isGuaranteed || !relationship.isWithinStore
        ? "" : " AND EXISTS (SELECT 1 FROM \(theirs) AS x WHERE x._pk = \(own).\(name))"
      sql =
        "SELECT _pk AS owner, \(name) AS target, NULL AS position, \(position) AS inverse_position "
        + "FROM \(own) WHERE \(name) IS NOT NULL\(isThere)"
    case .inverseReference, .referencesOfOthers:
      let name = SQLText.quoted(source.inverseReferenceColumn(of: relationship)?.name ?? "_pk")
      let position = source.positionColumn(of: relationship).map(SQLText.quoted) ?? "NULL"
      sql =
        "SELECT \(name) AS owner, _pk AS target, \(position) AS position, NULL AS inverse_position "
        + "FROM \(theirs) WHERE \(name) IS NOT NULL"
    case .join(let number, let isSource):
      isOrdered = true
      let join = source.joins[number]
      let first = join.isOrdered ? "_position" : "NULL"
      let second = join.isInverseOrdered ? "_inverse_position" : "NULL"
      sql =
        isSource
        ? "SELECT _source AS owner, _target AS target, \(first) AS position, \(second) AS inverse_position "
          + "FROM \(SQLText.quoted(join.table))"
        : "SELECT _target AS owner, _source AS target, \(second) AS position, \(first) AS inverse_position "
          + "FROM \(SQLText.quoted(join.table))"
    }
    return Pairs(sql: sql, target: other, isOrdered: isOrdered)
  }

  /// The mappings that create objects of a destination entity from objects of a source entity.
  @_optimize(none)
  func mappings(from old: EntityPlan, to new: EntityPlan) -> [SourceMapping] {
    sourceMappings.filter {
      old.subtree.contains($0.source.index) && new.subtree.contains($0.destination.index)
    }
  }

  /// SQL for the key of the object that a source object becomes; NULL if it becomes none. If it becomes several objects,
  /// the key is that of the first mapping's object.
  ///
  /// - Parameter key: SQL for a key of the source.
  @_optimize(none)
  func resolved(_ key: String, _ old: EntityPlan, as new: EntityPlan) -> String {
    if keepsAll(old, as: new) { return key }
    return resolved(key, as: new, by: mappings(from: old, to: new))
  }

  /// SQL for the key of the object that a source object becomes by some mappings.
  ///
  /// - Parameter key: SQL for a key of the source.
  @_optimize(none)
  func resolved(_ key: String, as new: EntityPlan, by sourceMappings: [SourceMapping]) -> String {
    let parts = sourceMappings.flatMap { sourceMapping in
      let offset = sourceMapping.offset == 0 ? "" : " + \(sourceMapping.offset)"
      let condition = condition(sourceMapping, "s").map { " AND \($0)" } ?? ""
      let own =
        "(SELECT s._pk\(offset) FROM main.\(SQLText.quoted(sourceMapping.source.table)) AS s WHERE s._pk = \(key)\(condition))"
      guard let number = associationIndex(sourceMapping) else { return [own] }
      let subtree = new.subtree.map(String.init).joined(separator: ", ")
      return [
        own,
        "(SELECT f.destination FROM \(Self.associations) AS f WHERE f.source = \(key) AND f.mapping = \(number) "
          + "AND f.root = \(sourceMapping.source.root) AND f.entity IN (\(subtree)) ORDER BY f.id LIMIT 1)",
      ]
    }
    return Self.coalesced(parts)
  }

  /// The value of a reference column, for rows `t0` of a source mapping's source.
  @_optimize(none)
  func reference(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> SQLText {
    let new = destination.entities[relationship.destination]
    switch objects(of: sourceMapping, relationship.name) {
    case .objects(let value)?:
      if let plain = plainRelationship(value, of: sourceMapping.source),
        case .reference(let column) = plain.storage
      {
        var key = "t0." + SQLText.quoted(sourceMapping.source.columns[column].name)
        if relationship.isGuaranteed, !plain.isGuaranteed, plain.isWithinStore {
          // Without a guarantee in the source, the reference may lead to no row.
          let table = SQLText.quoted(source.entities[plain.destination].table)
          key = "(SELECT x._pk FROM \(table) AS x WHERE x._pk = \(key))"
        }
        return SQLText(text: resolved(key, source.entities[plain.destination], as: new))
      }
      guard let pairs = pairs(of: sourceMapping, relationship.name) else { return "NULL" }
      return SQLText(
        text: "(SELECT r FROM (SELECT \(resolved("p.target", pairs.target, as: new)) AS r, p.position AS o "
          + "FROM (\(pairs.sql)) AS p WHERE p.owner = t0._pk) WHERE r IS NOT NULL ORDER BY o, r LIMIT 1)")
    case .none?: return "NULL"
    case .inverse?, nil: return inverseReference(relationship, for: sourceMapping)
    }
  }

  @_optimize(none)
  private func inverseReference(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> SQLText
  {
    guard let inverse = relationship.inverse else { return "NULL" }
    let subtree = destination.entities[relationship.destination].subtree
    var parts: [String] = []
    for owner in sourceMappings where subtree.contains(owner.destination.index) {
      guard let pairs = pairs(of: owner, inverse.name), pairs.target.root == sourceMapping.source.root else {
        continue
      }
      let condition = condition(owner, "o").map { " AND \($0)" } ?? ""
      parts.append(
        "(SELECT min(o._pk) + \(owner.offset) FROM (\(pairs.sql)) AS p JOIN main.\(SQLText.quoted(owner.source.table)) "
          + "AS o ON o._pk = p.owner WHERE p.target = t0._pk\(condition))")
      guard let number = associationIndex(owner) else { continue }
      parts.append(
        "(SELECT min(f.destination) FROM (\(pairs.sql)) AS p JOIN \(Self.associations) AS f "
          + "ON f.source = p.owner AND f.mapping = \(number) AND f.root = \(owner.source.root) "
          + "WHERE p.target = t0._pk)")
    }
    return SQLText(text: Self.coalesced(parts))
  }

  /// The position of a row `t0` of a source mapping's source, in a relationship that leads to it.
  @_optimize(none)
  func position(_ relationship: RelationshipPlan, for sourceMapping: SourceMapping) -> String {
    let new = destination.entities[relationship.destination]
    guard
      new.subtree.contains(sourceMapping.destination.index)
        || sourceMapping.destination.lineage.contains(new.index)
    else {
      return "NULL"
    }
    if let column = copiedPosition(relationship, for: sourceMapping) { return "t0." + SQLText.quoted(column) }
    guard let owner = destination.entity(relationship.owner) else { return "NULL" }
    let parts = sourceMappings.filter { owner.subtree.contains($0.destination.index) }.compactMap {
      other -> String? in
      guard let pairs = pairs(of: other, relationship.name), pairs.isOrdered,
        pairs.target.root == sourceMapping.source.root
      else {
        return nil
      }
      return "(SELECT p.position FROM (\(pairs.sql)) AS p WHERE p.target = t0._pk LIMIT 1)"
    }
    return Self.coalesced(parts)
  }

  /// SQL for the first of some values that is not NULL.
  @_optimize(none)
  private static func coalesced(_ values: [String]) -> String {
    switch values.count {
    case 0: "NULL"
    case 1: values[0]
    default: "coalesce(\(values.joined(separator: ", ")))"
    }
  }
}
