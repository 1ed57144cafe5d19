/// Checks requests against the model.
struct FetchCheck {
  let graph: EntityGraph
  let entity: String

  /// Returns the predicate for evaluation, with the raw values of enumeration cases.
  ///
  /// - Throws: ``FetchError``, with all mistakes of the predicate and the order.
  func checked(
    _ predicate: FetchPredicate?, sortKeys: [SortKey], fetchSource: String?,
    boundNames: Dictionary<String, EvaluationValue>.Keys
  ) throws -> FetchPredicate? {
    let checker = ExpressionChecker(graph: graph)
    var errors: [ExpressionDiagnostic] = []
    var checked: FetchPredicate?
    var missing: String?
    if let predicate {
      let result = checker.check(predicate, on: entity, fetchSource: fetchSource)
      errors += result.diagnostics.filter { $0.severity == .error }
      missing = result.variables.first { !boundNames.contains($0.name) }?.name
      checked = result.predicate
    }
    for key in sortKeys {
      let result = checker.check(ValueExpression.keyPath(key.keyPath), on: entity)
      errors += result.diagnostics.filter { $0.severity == .error }
      if !result.hasErrors, !Self.canBeSorted(result.type) {
        errors.append(
          ExpressionDiagnostic(
            .error, span: nil,
            "objects cannot be sorted by '\(key.keyPath)' (\(result.type)): write the path of a single value, or a number "
              + "such as @count"))
      }
      if !key.options.isEmpty, !result.hasErrors, !isString(result.type) {
        throw FetchError.optionsOfNoString(entity: entity, key: key.keyPath)
      }
    }
    guard errors.isEmpty else { throw FetchError.invalid(entity: entity, errors) }
    if let missing { throw FetchError.missingVariable(missing) }
    return checked
  }

  /// Whether the values of a type have an order. Otherwise a fetch would fail as soon as it finds a second object.
  private static func canBeSorted(_ type: ExpressionType) -> Bool {
    switch type {
    case .object, .collection, .dictionary, .attribute(.composite), .attribute(.codable): false
    case .attribute, .null, .unknown: true
    }
  }

  private func isString(_ type: ExpressionType) -> Bool {
    switch type {
    case .attribute(.string), .unknown: true
    case .attribute(.enumeration(let name)): graph.enumeration(name)?.rawType == .string
    default: false
    }
  }

  /// Returns the type of a key path of ``FetchRequest/propertiesToFetch``.
  ///
  /// - Throws: ``FetchError/invalid(entity:_:)`` and ``FetchError/notAValue(entity:key:)``.
  func value(of keyPath: String) throws -> ExpressionType {
    let result = ExpressionChecker(graph: graph).check(ValueExpression.keyPath(keyPath), on: entity)
    let errors = result.diagnostics.filter { $0.severity == .error }
    guard errors.isEmpty else { throw FetchError.invalid(entity: entity, errors) }
    guard result.variables.isEmpty, !result.type.isCollection else {
      throw FetchError.notAValue(entity: entity, key: keyPath)
    }
    return result.type
  }
}
