/// How several values are matched.
///
/// ```swift
/// let either = try Book.objects(matching: [.title: "Walden", .salesRank: 1], using: .or, in: context)
/// let both = try Book.objects(matching: [.title: "Walden", .salesRank: 1], using: .and, in: context)
/// ```
public enum MatchCombination: Hashable, Sendable {
  /// All of them.
  case and
  /// One of them at least.
  case or
}

extension ManagedObjectContext {
  /// The objects of an entity that have all of these values, or one of them; all objects where there are none.
  ///
  /// - Throws: ``FetchError``, for an unknown entity or key and for a value of a wrong type.
  public func objects(
    forEntityNamed name: String,
    matching values: KeyValuePairs<String, (any AttributeValueConvertible)?> = [:],
    using combination: MatchCombination = .and
  ) throws -> [ManagedObject] {
    let pairs = values.map { ($0.key, $0.value) }
    return try fetch(
      FetchRequest(entityName: name, where: try predicate(matching: pairs, using: combination, of: name)))
  }

  /// The object of an entity that has all of these values, or one of them; nil where there is none.
  ///
  /// - Throws: ``FetchError/tooManyObjects(entity:)`` where there are several.
  public func object(
    forEntityNamed name: String, matching values: KeyValuePairs<String, (any AttributeValueConvertible)?>,
    using combination: MatchCombination = .and
  ) throws -> ManagedObject? {
    let pairs = values.map { ($0.key, $0.value) }
    return try single(
      FetchRequest(entityName: name, where: try predicate(matching: pairs, using: combination, of: name)))
  }

  /// The one object that a request fetches.
  func single<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Object? {
    var request = request
    request.limit = 2
    let objects = try fetch(request)
    guard objects.count < 2 else { throw FetchError.tooManyObjects(entity: request.entityName) }
    return objects.first
  }

  func template(_ name: String, of entity: String) -> FetchTemplate? {
    // The nearest of the lineage counts.
    model.graph.lineage(of: entity).reversed().lazy
      .compactMap { $0.fetchTemplates.first { $0.name == name } }.first
  }

  /// The condition that attributes have values; nil where there are none, which all objects meet.
  func predicate(
    matching pairs: [(key: String, value: (any AttributeValueConvertible)?)],
    using combination: MatchCombination,
    of entity: String
  ) throws -> FetchPredicate? {
    guard let plan = model.entity(entity) else { throw FetchError.unknownEntity(entity) }
    let parts = try pairs.map { key, value in
      FetchPredicate(
        .keyPath([key]), .equalTo,
        .constant(try matched(value?.attributeValue ?? .null, key: key, of: plan)))
    }
    if parts.isEmpty { return nil }
    return combination == .and ? .and(parts) : .or(parts)
  }

  /// A value as its attribute has it.
  private func matched(_ value: AttributeValue, key: String, of plan: EntityPlan) throws -> AttributeValue {
    guard let slot = plan.slot(key) else { throw FetchError.unknownKey(entity: plan.name, key: key) }
    guard case .attribute(_, let cell) = slot.kind, let fitted = cell.fitted(value) else {
      throw FetchError.wrongType(
        entity: plan.name, key: key, expected: slot.attribute?.type.schemaName ?? "no value",
        given: value.typeName)
    }
    return fitted
  }
}
