import CDModel

extension SQLCompiler {
  /// Compiles a path that starts at a row's object or at the elements of a SUBQUERY.
  mutating func path(
    _ base: ValueExpression, _ steps: [PathStep]
  ) throws(EvaluationError) -> SQLOperand? {
    if let pathObject = start(of: base) { return try follow(steps[...], from: .pathObject(pathObject)) }
    if case .subquery(let collection, let variable, let condition) = base.kind {
      guard let rows = try subquery(collection, variable, condition) else { return nil }
      return try follow(steps[...], from: .collection(rows))
    }
    if case .variable(let name) = base.kind { throw .unboundVariable(name) }
    return nil
  }

  /// Compiles the elements of a collection that meet a condition. The condition must have an exact form.
  mutating func subquery(
    _ collection: ValueExpression, _ variable: String, _ condition: FetchPredicate
  ) throws(EvaluationError) -> SQLCollection? {
    guard case .collection(var rows)? = try operand(collection), rows.value == nil else { return nil }
    let outer = scope[variable]
    scope[variable] = rows.element
    defer { scope[variable] = outer }
    let condition = try self.condition(condition, isNegated: false)
    guard condition.isExact else { return nil }
    rows.condition = "\(rows.condition) AND \(condition.operand(of: .and))"
    return rows
  }

  /// The current end of a path.
  private enum Stop {
    case pathObject(SQLPathObject)
    case composite(SQLPathObject, PropertyPlan, [FieldPlan])
    case collection(SQLCollection)
  }

  private mutating func follow(
    _ steps: ArraySlice<PathStep>, from start: Stop
  ) throws(EvaluationError) -> SQLOperand? {
    var stop = start
    var rest = steps
    while let step = rest.popFirst() {
      switch (step, stop) {
      case (.itself, _): continue
      case (.key(let key), .pathObject(let pathObject)):
        guard let next = try resolvedStep(key, from: pathObject) else { return nil }
        switch next {
        case .stop(let next): stop = next
        case .value(let value): return rest.isEmpty ? .value(value) : nil
        }
      case (.key(let key), .composite(let pathObject, let slot, let fields)):
        guard rest.isEmpty, let number = fields.firstIndex(where: { $0.description.name == key }),
          slot.isStored
        else { return nil }
        return .value(
          column(slot.columns.lowerBound + number, fields[number].storageType, of: pathObject, slot))
      case (.key(let key), .collection(let collection)):
        guard collection.value == nil, let next = try resolvedStep(key, from: collection.element) else {
          return nil
        }
        switch next {
        case .value(let value):
          var collection = collection
          collection.value = value
          return try finish(collection, rest)
        case .stop(.pathObject(let pathObject)):
          // The elements are now these objects, and some of them may be nil.
          var collection = collection
          collection.element = pathObject
          stop = .collection(collection)
        case .stop(.collection(let inner)):
          // In memory, a nil object stays an element. A join in SQL would have no row for it.
          if collection.element.isNullable { return nil }
          let tables = 1 + collection.from.text.utf8.count(where: { $0 == UInt8(ascii: ",") })
          if tables > dialect.limits.tables { return nil }
          stop = .collection(
            SQLCollection(
              from: "\(collection.from), \(inner.from)",
              condition: "\(collection.condition) AND \(inner.condition)", element: inner.element))
        case .stop(.composite): return nil
        }
      case (.collectionOperator(let name), .collection(let collection)):
        return try aggregate(collection, name, rest)
      case (.collectionOperator(let name), .pathObject) where !rest.isEmpty:
        // `@sum.items.price`: the operator stands before the whole path.
        guard case .collection(let collection)? = try follow(rest, from: stop) else { return nil }
        return try aggregate(collection, name, [])
      case (.size, .collection(let collection)) where rest.isEmpty:
        return .value(count(collection))
      default: return nil
      }
    }
    switch stop {
    case .pathObject(let pathObject): return .value(object(pathObject))
    case .composite: return nil
    case .collection(let collection): return try finish(collection, [])
    }
  }

  private mutating func finish(
    _ collection: SQLCollection, _ rest: ArraySlice<PathStep>
  ) throws(EvaluationError) -> SQLOperand? {
    guard let step = rest.first else { return .collection(collection) }
    switch step {
    case .collectionOperator(let name) where rest.count == 1 && name == CollectionOperator.count.rawValue:
      return .value(count(collection))
    case .collectionOperator(let name): return try aggregate(collection, name, rest.dropFirst())
    case .size where rest.count == 1: return .value(count(collection))
    default: return nil
    }
  }

  // MARK: Steps

  private enum Step {
    case stop(Stop)
    case value(SQLValue)
  }

  /// Follows a key of an object. Returns nil for a property that is not in the store.
  private mutating func resolvedStep(_ key: String, from pathObject: SQLPathObject) throws(EvaluationError)
    -> Step?
  {
    guard let slot = pathObject.entity.slot(key) else {
      if model.graph.property(key, of: pathObject.entity.name) != nil { return nil }
      throw .unknownKey(key, entity: pathObject.entity.name)
    }
    if let storageType = slot.storageType {
      guard slot.isStored else { return nil }
      var value = column(slot.columns.lowerBound, storageType, of: pathObject, slot)
      if slot.mayNameFile { value.kind = .opaque }
      return .value(value)
    }
    switch slot.kind {
    case .attribute: return nil
    case .composite(_, let fields): return .stop(.composite(pathObject, slot, fields))
    case .relationship(let relationship):
      if relationship.isToMany {
        return rows(of: relationship, from: pathObject).map { .stop(.collection($0)) }
      }
      return reference(relationship, from: pathObject).map { .stop(.pathObject($0)) }
    }
  }

  private mutating func column(
    _ number: Int, _ storageType: StorageType, of pathObject: SQLPathObject, _ slot: PropertyPlan
  ) -> SQLValue {
    let plan = pathObject.entity.columns[number]
    let isNullable =
      pathObject.alias == nil || pathObject.isNullable || !plan.isMandatory
      || slot.isDerived
    return SQLValue(
      dialect.value(ofColumn: text(ofColumn: plan.name, of: pathObject), storageType),
      SQLValue.Kind(storageType), isNullable: isNullable)
  }

  private mutating func text(ofColumn name: String, of pathObject: SQLPathObject) -> SQLText {
    if let alias = pathObject.alias { return "\(raw: alias).\(raw: SQLText.quoted(name))" }
    return select(SQLText.quoted(name), from: pathObject.entity, where: "_pk", is: pathObject.key)
  }

  /// Selects a column of the row whose other column equals a key.
  private mutating func select(
    _ column: String, from entity: EntityPlan, where other: String, is key: SQLText
  ) -> SQLText {
    let alias = makeAlias(for: entity)
    let table = dialect.table(entity.table)
    return SQLText.joined(
      [
        "(SELECT \(raw: alias).\(raw: column) FROM \(raw: table) AS \(raw: alias)",
        "WHERE \(raw: alias).\(raw: other) = \(key))",
      ], " ")
  }

  /// The destination object of a to-one relationship.
  private mutating func reference(_ relationship: RelationshipPlan, from pathObject: SQLPathObject)
    -> SQLPathObject?
  {
    let destination = model.entities[relationship.destination]
    switch relationship.storage {
    case .reference(let column):
      var key = text(ofColumn: pathObject.entity.columns[column].name, of: pathObject)
      if !relationship.isGuaranteed {
        // A reference to a deleted object reads as nil.
        key = select("_pk", from: destination, where: "_pk", is: key)
      }
      return SQLPathObject(entity: destination, alias: nil, key: key, isNullable: true)
    case .inverseReference:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return nil }
      let key = select("_pk", from: destination, where: SQLText.quoted(column.name), is: pathObject.key)
      return SQLPathObject(entity: destination, alias: nil, key: key, isNullable: true)
    case .referencesOfOthers, .join: return nil
    }
  }

  /// The rows of a to-many relationship.
  private mutating func rows(of relationship: RelationshipPlan, from pathObject: SQLPathObject)
    -> SQLCollection?
  {
    let destination = model.entities[relationship.destination]
    let alias = makeAlias(for: destination)
    let table: SQLText = "\(raw: dialect.table(destination.table)) AS \(raw: alias)"
    let element = SQLPathObject(
      entity: destination, alias: alias, key: "\(raw: alias)._pk", isNullable: false)
    switch relationship.storage {
    case .referencesOfOthers:
      guard let column = model.inverseReferenceColumn(of: relationship) else { return nil }
      return SQLCollection(
        from: table, condition: "\(raw: alias).\(raw: SQLText.quoted(column.name)) = \(pathObject.key)",
        element: element)
    case .join(let number, let isSource):
      let join = makeAlias()
      let (own, other) = isSource ? ("_source", "_target") : ("_target", "_source")
      return SQLCollection(
        from: "\(raw: dialect.table(model.joins[number].table)) AS \(raw: join), \(table)",
        condition:
          "\(raw: join).\(raw: own) = \(pathObject.key) AND \(raw: alias)._pk = \(raw: join).\(raw: other)",
        element: element)
    case .reference, .inverseReference: return nil
    }
  }

  // MARK: Collection operators

  private func count(_ collection: SQLCollection) -> SQLValue {
    // A store never has 2^48 rows.
    SQLValue(
      "(SELECT count(*) FROM \(collection.from) WHERE \(collection.condition))", .int(0...(1 << 48)),
      isNullable: false)
  }

  private mutating func aggregate(
    _ collection: SQLCollection, _ name: String, _ rest: ArraySlice<PathStep>
  ) throws(EvaluationError) -> SQLOperand? {
    guard let collectionOperator = CollectionOperator(rawValue: name) else { throw .unsupported("@\(name)") }
    if collectionOperator == .count { return rest.isEmpty ? .value(count(collection)) : nil }
    var operand: SQLOperand? = .collection(collection)
    if !rest.allSatisfy({ $0 == .itself }) {
      if collection.value != nil { return nil }
      operand = try follow(rest, from: .collection(collection))
    }
    guard case .collection(let rows)? = operand, let value = rows.value else { return nil }
    func select(_ what: SQLText?) -> SQLText? {
      what.map { "(SELECT \($0) FROM \(rows.from) WHERE \(rows.condition))" }
    }
    switch (collectionOperator, value.kind) {
    case (.min, let kind) where kind.isOrdered, (.max, let kind) where kind.isOrdered:
      return select(dialect.extreme(name, of: value)).map { .value(SQLValue($0, kind)) }
    case (.sum, .int):
      mayFail = true
      return select(dialect.sum(value.sql)).map {
        .value(SQLValue($0, .int(Int64.min...Int64.max), isNullable: false))
      }
    case (.avg, .int(let range)) where range.lowerBound > -(1 << 40) && range.upperBound < 1 << 40:
      return select(dialect.average(value.sql)).map { .value(SQLValue($0, .double)) }
    default:
      // The sum of fractions depends on the order of addition, which SQL does not define.
      return nil
    }
  }
}
