import CDModel

// Where the values of attributes come from.
extension StepPlan {
  /// The column of a source that holds an attribute or a field; nil for any other expression.
  func sourceColumn(_ value: ValueExpression, of entity: EntityPlan) -> ColumnPlan? {
    guard case .path(let base, let steps) = value.kind, case .object = base.kind,
      case .key(let key)? = steps.first, let slot = entity.slot(key), slot.isStored
    else { return nil }
    switch slot.kind {
    case .attribute: return steps.count == 1 ? entity.columns[slot.columns.lowerBound] : nil
    case .composite(_, let fields):
      guard steps.count == 2, case .key(let field) = steps[1],
        let place = fields.firstIndex(where: { $0.description.name == field }),
        slot.columns.lowerBound + place < slot.columns.upperBound
      else { return nil }
      return entity.columns[slot.columns.lowerBound + place]
    case .relationship: return nil
    }
  }

  /// Whether large values of a column are files.
  private func isExternal(_ column: ColumnPlan, in entity: EntityPlan) -> Bool {
    entity.slots[column.slot].attribute?.storesExternally == true
  }

  /// The column of the source that a value is taken from without a change.
  func copiedColumn(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping)
    -> ColumnPlan?
  {
    guard let old = sourceColumn(value, of: sourceMapping.source), old.cell == column.cell,
      !isExternal(old, in: sourceMapping.source) || isExternal(column, in: sourceMapping.destination)
    else { return nil }
    return old
  }

  /// A value as SQL; nil where it has to be evaluated an object at a time.
  func sql(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping) -> SQLText? {
    if let old = copiedColumn(value, for: column, of: sourceMapping) {
      return "t0.\(raw: SQLite.quoted(old.name))"
    }
    switch value.kind {
    case .constant(.value(let constant)):
      return column.cell.fitted(constant).map { "\(bind: $0)" }
    case .function(.now, _) where column.cell == .date:
      return "\(bind: .date(now))"
    case .cast(let inner, .attribute(let type), _):
      // The conversions that SQL makes without looking never need what stands for values that do not fit.
      if StorageType(type, in: destination.graph) == column.cell,
        let old = sourceColumn(inner, of: sourceMapping.source), !isExternal(old, in: sourceMapping.source),
        let converted = Self.converted("t0.\(raw: SQLite.quoted(old.name))", old.cell, to: column.cell)
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

  private func compiled(_ value: ValueExpression, for column: ColumnPlan, of sourceMapping: SourceMapping)
    -> SQLText?
  {
    var compiler = SQLCompiler(
      entity: sourceMapping.source, model: source, variables: [:], now: now,
      key: SQLPredicate.keys(in: source))
    // What the compiler throws the evaluator throws too, with the row.
    let operand: SQLOperand? = (try? compiler.operand(value)) ?? nil
    guard case .value(let result)? = operand,
      result.sql.parserDepth <= SQLPredicate.maximumTermDepth, result.sql.bindings.count <= 1000
    else { return nil }
    let sql: SQLText? =
      switch (result.kind, column.cell) {
      case (.int(let range), .int16):
        limited(result.sql, range, to: Int64(Int16.min)...Int64(Int16.max), &compiler)
      case (.int(let range), .int32):
        limited(result.sql, range, to: Int64(Int32.min)...Int64(Int32.max), &compiler)
      case (.int, .int64), (.int, .double), (.double, .double), (.float, .float), (.string, .string),
        (.date, .date), (.uuid, .uuid), (.decimal, .decimal), (.url, .url):
        result.sql
      case (.int(let range), .bool): range.lowerBound >= 0 && range.upperBound <= 1 ? result.sql : nil
      default: nil
      }
    guard let sql, compiler.mayFail else { return sql }
    mayFail = true
    return evaluatesAll ? nil : sql
  }

  /// Integers of a range as those of a narrower type.
  private func limited(
    _ sql: SQLText, _ range: ClosedRange<Int64>, to narrow: ClosedRange<Int64>, _ compiler: inout SQLCompiler
  ) -> SQLText {
    if narrow.contains(range.lowerBound), narrow.contains(range.upperBound) { return sql }
    compiler.mayFail = true
    return PredicateFunctions.limited(sql, to: narrow)
  }

  /// A conversion that SQL makes as the evaluator does.
  private static func converted(_ value: SQLText, _ old: StorageType, to new: StorageType) -> SQLText? {
    switch (old, new) {
    case (let old, let new) where old == new: value
    case (.bool, .int16), (.bool, .int32), (.bool, .int64), (.int16, .int32), (.int16, .int64),
      (.int32, .int64), (.int16, .double), (.int32, .double), (.float, .double), (.int16, .float),
      (.double, .date), (.float, .date), (.int16, .date), (.int32, .date), (.date, .double),
      (.uuid, .data):
      value
    case (.int16, .string), (.int32, .string), (.int64, .string): "CAST(\(value) AS TEXT)"
    default: nil
    }
  }

  /// The value of a column of the destination, for rows `t0` of a source mapping's source.
  func value(of column: ColumnPlan, for sourceMapping: SourceMapping) -> SQLText {
    if column.isReference {
      guard let relationship = sourceMapping.destination.slots[column.slot].relationship else {
        return "NULL"
      }
      return reference(relationship, for: sourceMapping)
    }
    if isDerived(column, in: sourceMapping.destination) {
      return copiedDerived(column, for: sourceMapping).map { "t0.\(raw: SQLite.quoted($0.name))" } ?? "NULL"
    }
    let path = self.path(of: column, in: sourceMapping.destination)
    if let place = sourceMapping.evaluations.firstIndex(where: { $0.name == path && !$0.isPair }) {
      return "e.c\(raw: "\(place)")"
    }
    guard let value = sourceMapping.mapping.attributes.first(where: { $0.name == path })?.value else {
      return "NULL"
    }
    return sql(value, for: column, of: sourceMapping) ?? "NULL"
  }

  /// The column with the same derivation in the source. It is right until other objects' changes are derived.
  func copiedDerived(_ column: ColumnPlan, for sourceMapping: SourceMapping) -> ColumnPlan? {
    let new = sourceMapping.destination.slots[column.slot].attribute
    guard let slot = sourceMapping.source.slot(sourceMapping.destination.slots[column.slot].name),
      slot.columns.count == 1,
      slot.attribute?.derivation == new?.derivation, new?.derivation != nil,
      sourceMapping.source.columns[slot.columns.lowerBound].cell == column.cell
    else { return nil }
    return sourceMapping.source.columns[slot.columns.lowerBound]
  }
}
