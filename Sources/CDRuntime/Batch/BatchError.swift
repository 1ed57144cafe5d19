/// Why a batch was refused. Nothing of it was written.
///
/// ```swift
/// do {
///   try context.execute(BatchDeleteRequest<Publisher>(where: \.name == "BookCo"))
/// } catch BatchError.deleteDenied(let entity, let relationship, let ids) {
///   print("\(ids.count) objects of \(entity) still have \(relationship)")
/// }
/// ```
public enum BatchError: Error, Hashable, Sendable {
  /// Rows break rules of the schema: the first hundred mistakes.
  case invalid([BatchMistake])
  /// A batch does not write derived, transient and to-many properties, nor to-one ones whose reference stands in other
  /// rows.
  case notWritable(entity: String, key: String)
  /// A row has the values of a `unique:` list, or the object of a one-to-one relationship, that another one has.
  /// `properties` is empty where the store does not say which. `row` is the number of an inserted one, from 0.
  case notUnique(entity: String, properties: [String], row: Int?)
  /// Objects that were to be deleted have objects in a relationship whose rule is to deny that: a hundred at the most.
  case deleteDenied(entity: String, relationship: String, [ManagedObjectID])
  /// Rows refer to rows that are not there.
  case danglingReferences(entity: String)
  /// An expression is not of its attribute's type.
  case wrongExpression(entity: String, key: String, reason: String)
}

/// A rule of the schema that a row of a batch breaks.
///
/// ```swift
/// do {
///   try context.execute(BatchUpdateRequest<Book>(set: [.set(\.price, to: -1)]))
/// } catch BatchError.invalid(let mistakes) {
///   for mistake in mistakes { print(mistake.property ?? mistake.entity, mistake.reason) }
/// }
/// ```
public struct BatchMistake: Hashable, Sendable {
  /// The number of an inserted row, from 0; nil in other batches.
  public let row: Int?
  /// The name of the entity.
  public let entity: String
  /// The attribute, `composite.field` or relationship; nil where the rule is the row's.
  public let property: String?
  /// The rule.
  public let reason: ValidationError.Reason
  /// The object of a row that is in the store already.
  public let objectID: ManagedObjectID?

  init(
    row: Int? = nil, entity: String, property: String?, reason: ValidationError.Reason,
    objectID: ManagedObjectID? = nil
  ) {
    self.row = row
    self.entity = entity
    self.property = property
    self.reason = reason
    self.objectID = objectID
  }
}

extension BatchMistake: CustomStringConvertible {
  public var description: String {
    let subject = property.map { "'\(entity).\($0)'" } ?? "'\(entity)'"
    let place = row.map { "row \($0)" } ?? objectID?.description ?? "every row"
    return "\(subject) of \(place) \(reason)"
  }
}

extension BatchError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .invalid(let mistakes): mistakes.map(\.description).joined(separator: "\n")
    case .notWritable(let entity, let key):
      "'\(entity).\(key)' is not kept in the rows of '\(entity)', or is computed; a batch cannot set it"
    case .notUnique(let entity, let properties, let row):
      (row.map { "row \($0)" } ?? "a row") + " of '\(entity)' has the same "
        + (properties.isEmpty ? "unique values" : properties.joined(separator: ", "))
        + " as another; leave it out, or set `uniqueness` where both are of '\(entity)'"
    case .deleteDenied(let entity, let relationship, let ids):
      "'\(entity).\(relationship)' denies the deletion of "
        + ids.map(\.description).joined(separator: ", ") + "; delete or move what they have first"
    case .danglingReferences(let entity):
      "the batch leaves references of or to '\(entity)' that lead to no row; nothing was written"
    case .wrongExpression(let entity, let key, let reason): "'\(entity).\(key)' cannot be set: \(reason)"
    }
  }
}
