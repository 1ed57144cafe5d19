import Baseline
@_spi(Generated) import CDRuntime
import Foundation

/// The sorts of migrations of a million todos.
enum MigrationKind: String, CaseIterable {
  /// Rules rewrite every row.
  case rewrite
  /// Code like that of a custom step, which `cdgen` generates, creates every object.
  case custom
  /// The table gets a new column.
  case column
}

/// The todos of the other workloads in two versions.
enum MigrationModel {
  private static let id = UUID(uuidString: "9A0E1B7C-3C55-4F0B-9A66-2B0A5F7C1D11") ?? UUID()

  private static func todo(_ kind: MigrationKind?) -> EntityDescription {
    var attributes = [
      AttributeDescription(name: "title", type: .string),
      AttributeDescription(
        name: "notes", type: .string, isOptional: kind == nil || kind == .column,
        defaultValue: kind == nil || kind == .column ? nil : .value(.string(""))),
      AttributeDescription(name: "priority", type: .int64), AttributeDescription(name: "due", type: .date),
      AttributeDescription(name: "done", type: .bool), AttributeDescription(name: "uuid", type: .uuid),
    ]
    if let kind {
      attributes.append(
        AttributeDescription(
          name: "rank", type: .int64, defaultValue: kind == .custom ? nil : .value(.int(0))))
    }
    var entity = EntityDescription(
      name: "Todo", attributes: attributes,
      relationships: [
        RelationshipDescription(name: "category", destination: "Category", isOptional: true, inverse: "todos")
      ])
    entity.indexes = [IndexDescription(elements: [SortKey("title")])]
    return entity
  }

  private static func version(_ number: Int, _ kind: MigrationKind?) -> ModelVersion {
    ModelVersion(
      number: number, basedOn: number > 1 ? [1] : [],
      entities: [
        todo(kind),
        EntityDescription(
          name: "Category", attributes: [AttributeDescription(name: "name", type: .string)],
          relationships: [
            RelationshipDescription(name: "todos", destination: "Todo", isToMany: true, inverse: "category")
          ]),
      ])
  }

  private static func model(_ kind: MigrationKind?) throws -> ManagedObjectModel {
    var mappings: [MappingRules] = []
    switch kind {
    case .rewrite:
      mappings = [
        MappingRules(
          source: 1, destination: 2,
          entities: [
            EntityRule(
              destination: "Todo",
              attributes: [
                PropertyMapping(name: "rank", value: try ValueExpression(format: "priority + 1"))
              ])
          ])
      ]
    case .custom:
      mappings = [
        MappingRules(
          source: 1, destination: 2, entities: [EntityRule(destination: "Todo", name: "Todo", isCustom: true)]
        )
      ]
    case .column, nil: break
    }
    return ManagedObjectModel(
      name: "Todos", id: id, versions: [version(1, nil)] + (kind.map { [version(2, $0)] } ?? []),
      currentVersionNumber: kind == nil ? 1 : 2, mappings: mappings)
  }

  /// Creates a store of the first version.
  static func create(_ path: String, count: Int) throws {
    do {
      _ = try PersistentStoreCoordinator(model: model(nil), at: .sqlite(URL(filePath: path)))
    }
    try check(
      base_execute(
        path,
        """
        \(largeCache)
        BEGIN;
        INSERT INTO Category (_pk, _version, name)
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
          SELECT i, 1, 'Category ' || i FROM n;
        INSERT INTO Todo (_pk, _version, title, notes, priority, due, done, uuid, category)
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) \(values("1, "));
        INSERT INTO _cdgen_keys VALUES ('Todo', \(count + 1)), ('Category', 1001);
        COMMIT;
        """))
  }

  /// Creates the same rows in a database for C.
  static func createBaseline(_ path: String, count: Int) throws {
    guard let store = base_open(path) else { throw BenchError("C cannot open \(path)") }
    base_close(store)
    try check(
      base_execute(
        path,
        """
        \(largeCache)
        BEGIN;
        INSERT INTO category WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
          SELECT i, 'Category ' || i FROM n;
        INSERT INTO todo WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) \(values(""));
        COMMIT;
        """))
  }

  /// The titles come in no order, so that rows change pages in all parts of their index. Those pages must fit into the cache.
  private static let largeCache = "PRAGMA cache_size = -256000;"

  private static func values(_ version: String) -> String {
    """
    SELECT i, \(version)'Todo number ' || (i * 7919 % 1000003), CASE WHEN i % 3 = 0 THEN NULL ELSE 'Some notes on it, ' || i END,
      i % 5, i * 60.5, i % 2, CAST(printf('%016d', i) AS BLOB), i % 1000 + 1 FROM n
    """
  }

  /// Opens the store with the second version, which migrates it.
  static func migrate(_ path: String, _ kind: MigrationKind) throws {
    var description = PersistentStoreDescription(.sqlite(URL(filePath: path)))
    description.migrationPolicies = MigrationPolicies(_suite: {
      [MigrationPolicies.Key("Todo", from: 1, to: 2): TypedMigrationPolicy(make: makeTodo)]
    })
    _ = try PersistentStoreCoordinator(model: model(kind), stores: [description])
  }

  /// Does what a typed requirement does: reads and writes every property by its slot.
  private static func makeTodo(_ source: ManagedObject, _ manager: MigrationManager) throws -> ManagedObject?
  {
    let todo = try manager._make(from: source, mapping: "Todo")
    todo._set(source._string(0), 0)
    todo._set(source._optionalString(1) ?? "", 1)
    todo._set(source._int64(2), 2)
    todo._set(source._date(3), 3)
    todo._set(source._bool(4), 4)
    todo._set(source._uuid(5), 5)
    todo._set(source._int64(2) + 1, 6)
    return todo
  }

  static func check(_ code: Int32) throws {
    if code != 0 { throw BenchError("SQLite's error \(code)") }
  }

  static func number(_ path: String, _ sql: String) throws -> Int64 {
    var result: Int64 = 0
    try check(base_number(path, sql, &result))
    return result
  }

  /// A number that depends on all values.
  static func checksum(_ path: String, table: String, key: String) throws -> Int64 {
    try number(
      path,
      "SELECT sum(\(key) * 3 + length(title) * 5 + length(notes) * 7 + priority * 11 + CAST(due AS INTEGER) * 13 "
        + "+ done * 17 + unicode(substr(CAST(uuid AS TEXT), 16)) * 19 + category * 23 + rank * 29) FROM \(table)"
    )
  }
}
