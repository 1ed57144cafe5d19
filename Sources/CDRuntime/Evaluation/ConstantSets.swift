import CDModel

/// The prepared constants of predicates: patterns, long lists as sets, and constant objects, which are named by their
/// hierarchies. An evaluator prepares them at their first use. A list of 100,000 values is then as fast as a list of ten.
final class ConstantSets {
  /// The maximum length of a list that is searched instead.
  static let minimumCount = 32
  /// The maximum number of sets whose elements are kept in order. An evaluator can be used for any number of predicates.
  private static let maximumSetCount = 16

  private struct Entry {
    // Keeps the list alive, because its address identifies it.
    let constants: [ExpressionConstant]
    /// Nil if the predicate's equality differs from the equality of the values themselves.
    let values: Set<AttributeValue>?
  }

  private struct NamedList {
    // Keeps the list alive, because its address identifies it.
    let constants: [ExpressionConstant]
    let value: EvaluationValue
  }

  let texts = PreparedTexts()
  private var entries: [UnsafeRawPointer: Entry] = [:]
  /// One for each of the first sets of the predicates.
  private var sortedSets: [(set: Set<ExpressionConstant>, list: [ExpressionConstant])] = []
  private var namedLists: [UnsafeRawPointer: NamedList] = [:]
  private var namedObjects: [ObjectReference: EvaluationValue] = [:]
  private let givenVariables: [String: EvaluationValue]
  private var namedVariables: [String: EvaluationValue]?
  /// The model of the objects; nil if it is unknown.
  private let model: ModelPlan?

  init(variables: [String: EvaluationValue], model: ModelPlan?) {
    givenVariables = variables
    self.model = model
  }

  /// The values of variables. They are named at their first use, because many evaluators never evaluate anything: the store
  /// decides.
  var variables: [String: EvaluationValue] {
    guard let model else { return givenVariables }
    if let namedVariables { return namedVariables }
    let variables = givenVariables.mapValues { $0.namingRoots(of: model) }
    namedVariables = variables
    return variables
  }

  /// Returns the value of a constant. Objects and lists are named once, not for each object that is evaluated.
  func value(_ constant: ExpressionConstant) -> EvaluationValue {
    if case .set(let set) = constant, let elements = list(set) { return value(.array(elements)) }
    guard let model else { return EvaluationValue(constant) }
    switch constant {
    case .value: return EvaluationValue(constant)
    case .object(let reference):
      if let known = namedObjects[reference] { return known }
      let value = EvaluationValue(constant).namingRoots(of: model)
      namedObjects[reference] = value
      return value
    case .array(let constants):
      let address = constants.withUnsafeBytes { $0.baseAddress }
      if let address, let known = namedLists[address], known.constants.count == constants.count {
        return known.value
      }
      let value = EvaluationValue(constant).namingRoots(of: model)
      if let address { namedLists[address] = NamedList(constants: constants, value: value) }
      return value
    case .set, .dictionary: return EvaluationValue(constant).namingRoots(of: model)
    }
  }

  /// The elements of a constant list or set; nil for any other expression, and for a set whose elements are not kept.
  func elements(of expression: ValueExpression) -> [ExpressionConstant]? {
    switch expression.kind {
    case .constant(.array(let elements)): elements
    case .constant(.set(let elements)): list(elements)
    default: nil
    }
  }

  /// Returns the elements of a set in their order, always the same array for a set. Nil if there are too many sets.
  private func list(_ set: Set<ExpressionConstant>) -> [ExpressionConstant]? {
    // The set of a predicate is one object, whose elements need no comparison.
    if let known = sortedSets.first(where: { $0.set == set }) { return known.list }
    guard sortedSets.count < Self.maximumSetCount else { return nil }
    let list = EvaluationValue.sorted(set)
    sortedSets.append((set, list))
    return list
  }

  /// Returns whether a list contains a value; nil if only a search can decide.
  func contains(_ member: AttributeValue, in constants: [ExpressionConstant]) -> Bool? {
    guard let values = values(of: constants) else { return nil }
    switch member {
    case .null, .string, .int, .uuid: return values.contains(member)
    case .bool(let flag): return values.contains(.int(flag ? 1 : 0))
    // A fraction can equal an integer.
    default: return nil
    }
  }

  private func values(of constants: [ExpressionConstant]) -> Set<AttributeValue>? {
    guard let address = constants.withUnsafeBytes({ $0.baseAddress }) else { return nil }
    if let known = entries[address], known.constants.count == constants.count { return known.values }
    let entry = Entry(constants: constants, values: Self.plainValues(constants))
    entries[address] = entry
    return entry.values
  }

  /// Returns the values of a list that contains only nil, strings, integers and UUIDs; nil for other lists. Only for
  /// these types does the predicate's equality agree with the equality of the values.
  private static func plainValues(_ constants: [ExpressionConstant]) -> Set<AttributeValue>? {
    var values: Set<AttributeValue> = []
    values.reserveCapacity(constants.count)
    for constant in constants {
      guard case .value(let value) = constant else { return nil }
      switch value {
      case .null, .string, .int, .uuid: values.insert(value)
      default: return nil
      }
    }
    return values
  }
}

extension EvaluationValue {
  /// Returns the value with identifiers that name the root entity of each constant object. An identifier may name any
  /// entity of the hierarchy. So two identifiers of one object differ otherwise.
  func namingRoots(of model: ModelPlan) -> EvaluationValue {
    switch self {
    case .reference(let reference): .reference(reference.namingRoot(of: model))
    case .collection(let elements): .collection(elements.map { $0.namingRoots(of: model) })
    case .dictionary(let elements): .dictionary(elements.mapValues { $0.namingRoots(of: model) })
    case .value, .float, .subject: self
    }
  }
}

extension ObjectReference {
  fileprivate func namingRoot(of model: ModelPlan) -> ObjectReference {
    guard let id = ManagedObjectID(self), let entity = model.entity(id.entityName) else { return self }
    let root = model.entities[entity.root].name
    if id.entityName == root { return self }
    return ManagedObjectID(storeID: id.storeID, entityName: root, key: id.key).reference
  }
}
