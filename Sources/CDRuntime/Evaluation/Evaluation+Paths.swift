import CDModel

extension Evaluation {
  /// The value at the end of a key path. A nil on the way makes the whole nil, or the collection that it
  /// leads to empty.
  mutating func follow(
    _ steps: ArraySlice<PathStep>, from start: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    var value = start
    var rest = steps
    while let step = rest.popFirst() {
      switch step {
      case .key(let key): value = try Self.value(forKey: key, of: value)
      case .itself: break
      case .collectionOperator(let name):
        guard let collectionOperator = CollectionOperator(rawValue: name) else {
          throw .unsupported("@\(name)")
        }
        if collectionOperator == .count {
          value = .int(Int64(try Self.elements(of: value, for: "@count").count))
          continue
        }
        let operands = try operands(of: collectionOperator, in: value, rest)
        return try Aggregation.aggregate(operands, collectionOperator)
      case .variable(let name): throw .unsupported("the key $\(name)")
      case .index(let index): value = try Self.element(try self.value(index), of: value)
      case .first: value = try Self.elements(of: value, for: "[FIRST]").first ?? .null
      case .last: value = try Self.elements(of: value, for: "[LAST]").last ?? .null
      case .size: value = .int(Int64(try Self.elements(of: value, for: "[SIZE]").count))
      }
    }
    return value
  }

  /// What the steps behind an operator give for each element. Before the path of one object,
  /// `@sum.items.price`, it stands for that path's values.
  private mutating func operands(
    of collectionOperator: CollectionOperator, in value: EvaluationValue, _ steps: ArraySlice<PathStep>
  ) throws(EvaluationError) -> [EvaluationValue] {
    switch value {
    case .collection(let elements):
      var results: [EvaluationValue] = []
      results.reserveCapacity(elements.count)
      for element in elements {
        let result = try follow(steps, from: element)
        if case .collection(let inner) = result { results += inner } else { results.append(result) }
      }
      return results
    case .dictionary, .subject:
      let word = "@\(collectionOperator.rawValue)"
      if steps.isEmpty { return try Self.elements(of: value, for: word) }
      return try Self.elements(of: try follow(steps, from: value), for: word)
    default: return try Self.elements(of: value, for: "@\(collectionOperator.rawValue)")
    }
  }

  /// The value of a key; of a collection, the values of its elements, in one collection however many
  /// collections those are in turn.
  static func value(forKey key: String, of value: EvaluationValue) throws(EvaluationError) -> EvaluationValue
  {
    switch value {
    case .subject(let subject): return try subject.evaluationValue(forKey: key)
    case .dictionary(let values): return values[key] ?? .null
    case .collection(let elements):
      var results: [EvaluationValue] = []
      results.reserveCapacity(elements.count)
      for element in elements {
        let result = try self.value(forKey: key, of: element)
        if case .collection(let inner) = result { results += inner } else { results.append(result) }
      }
      return .collection(results)
    case .value(.null): return .null
    case .value(.composite(let fields)):
      guard let field = fields[key] else { throw .unknownKey(key, entity: value.kindName) }
      return .value(field)
    case .reference: throw .unsupported("a key of an object that is a constant")
    case .value, .float:
      guard let result = ValueKeys.value(forKey: key, of: value) else {
        throw .unknownKey(key, entity: value.kindName)
      }
      return result
    }
  }

  /// An element by its number, or by its key.
  static func element(
    _ index: EvaluationValue, of value: EvaluationValue
  ) throws(EvaluationError) -> EvaluationValue {
    if value.isNull { return .null }
    switch (value, index) {
    case (.dictionary(let elements), .value(.string(let key))): return elements[key] ?? .null
    case (.subject, .value(.string(let key))): return try self.value(forKey: key, of: value)
    case (.collection(let elements), _):
      guard let number = Number(index) else {
        throw .wrongOperand(operation: "[ ]", found: index.kindName)
      }
      let place: Int?
      switch number {
      case .int(let number): place = Int(exactly: number)
      case .double, .float, .decimal: place = Int(exactly: number.double)
      }
      guard let place, elements.indices.contains(place) else { throw .indexOutOfRange }
      return elements[place]
    default: throw .wrongOperand(operation: "[ ]", found: value.kindName)
    }
  }
}
