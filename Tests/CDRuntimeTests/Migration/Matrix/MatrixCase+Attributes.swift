import Foundation

@testable import CDRuntime

extension MatrixCase {
  private static let count = attribute("count", .int32, .int(3))
  private static let maybe = attribute("count", .int32, isOptional: true)
  private static let numbers = setting("count") { .int(Int64($0) - 3) }
  /// nil for every third.
  private static let someNumbers: @Sendable (ManagedObject, Int) throws -> Void = { object, number in
    if number % 3 != 0 { try object.setValue(.attribute(.int(Int64(number))), forKey: "count") }
  }
  private static let select = "SELECT text, count FROM Item ORDER BY _pk"

  static var attributes: [MatrixCase] {
    var transient = count
    transient.isTransient = true
    var derived = attribute("count", .int64)
    derived.derivation = try? ValueExpression(format: "length(text)")
    var other = derived
    other.derivation = try? ValueExpression(format: "length(text) + 1")
    let long = attribute("count", .int64, .int(3))
    var least = count
    least.minimum = .int(-100)
    var body = attribute("body", .data, isOptional: true)
    let inline = body
    body.storesExternally = true
    let old = AttributeType.codable(type: "App.Old", codec: 1)
    let new = AttributeType.codable(type: "App.Old", codec: 2)
    return [
      MatrixCase(
        "an attribute is added", [.attributeAdded], from: version(1, []),
        to: version(2, [attribute("count", .int32, .int(3)), attribute("note", .string, isOptional: true)]),
        sql: "SELECT text, count, note FROM Item ORDER BY _pk", row: { ["t\($0)", "3", nil] }),
      MatrixCase(
        "an attribute is added by a rule", [.attributeAdded], from: version(1, []),
        to: version(2, [attribute("count", .int64)]), rule("count", "length(text)"), sql: select,
        row: { ["t\($0)", "\("t\($0)".count)"] }),
      MatrixCase(
        "an attribute is removed", [.attributeRemoved], from: version(1, [count]), to: version(2, []),
        dropping("count"), set: numbers,
        sql: "SELECT text, (SELECT count(*) FROM pragma_table_info('Item')) FROM Item ORDER BY _pk",
        row: { ["t\($0)", "3"] }),
      MatrixCase(
        "an attribute is renamed", [.attributeRenamed], from: version(1, [count]),
        to: version(2, [attribute("size", .int32, .int(3), renamedFrom: "count")]), set: numbers,
        sql: "SELECT text, size FROM Item ORDER BY _pk", row: { ["t\($0)", "\($0 - 3)"] }),
      MatrixCase(
        "a rename speaks of another entity", [.renameUnresolved],
        from: MigrationFixture.version(
          1, [entity("Item", [text]), entity("Other", [attribute("size", .int64, .int(1))])]),
        to: MigrationFixture.version(
          2,
          [
            entity("Item", [text, attribute("count", .int64, renamedFrom: "Other.size")]),
            entity("Other", [attribute("size", .int64, .int(1))]),
          ]), rule("count", "length(text)"), sql: select, row: { ["t\($0)", "\("t\($0)".count)"] }),
      MatrixCase(
        "an attribute moves to the parent", [.attributeMoved],
        from: MigrationFixture.version(
          1, [entity("Base", isAbstract: true, [text]), entity("Item", parent: "Base", [count])]),
        to: MigrationFixture.version(
          2, [entity("Base", isAbstract: true, [text, count]), entity("Item", parent: "Base")]), set: numbers,
        sql: "SELECT text, count FROM Base ORDER BY _pk", row: { ["t\($0)", "\($0 - 3)"] }),
      MatrixCase(
        "a codable has another codec", [.codableChanged],
        from: version(1, [attribute("extra", old, isOptional: true)]),
        to: version(2, [attribute("extra", new, isOptional: true)]), rule("extra", "extra"),
        set: setting("extra") { .string("{\"a\":\($0)}") }, sql: "SELECT extra FROM Item ORDER BY _pk",
        row: { ["{\"a\":\($0)}"] }),
      MatrixCase(
        "an attribute becomes optional", [.attributeBecameOptional], from: version(1, [count]),
        to: version(2, [maybe]), set: numbers, sql: select, row: { ["t\($0)", "\($0 - 3)"] }),
      MatrixCase(
        "an attribute becomes mandatory", [.attributeBecameMandatory], from: version(1, [maybe]),
        to: version(2, [count]), set: someNumbers, sql: select,
        row: { ["t\($0)", $0 % 3 == 0 ? "3" : "\($0)"] }),
      MatrixCase(
        "an attribute becomes mandatory by a rule", [.attributeBecameMandatory], from: version(1, [maybe]),
        to: version(2, [attribute("count", .int32)]), rule("count", "count ?? -1"), set: someNumbers,
        sql: select,
        row: { ["t\($0)", $0 % 3 == 0 ? "-1" : "\($0)"] }),
      MatrixCase(
        "an attribute is no longer stored", [.attributeBecameTransient], from: version(1, [count]),
        to: version(2, [transient]), dropping("count"), set: numbers,
        sql: "SELECT text, (SELECT count(*) FROM pragma_table_info('Item')) FROM Item ORDER BY _pk",
        row: { ["t\($0)", "3"] }),
      MatrixCase(
        "an attribute is stored now", [.attributeBecameStored], from: version(1, [transient]),
        to: version(2, [count]), sql: select, row: { ["t\($0)", "3"] }),
      MatrixCase(
        "an attribute is derived now", [.attributeBecameDerived], from: version(1, [long]),
        to: version(2, [derived]), dropping("count"), set: numbers, sql: select,
        row: { ["t\($0)", "\("t\($0)".count)"] }),
      MatrixCase(
        "an attribute is no longer derived", [.attributeBecamePlain], from: version(1, [derived]),
        to: version(2, [long]), sql: select, row: { ["t\($0)", "\("t\($0)".count)"] }),
      MatrixCase(
        "an attribute is derived in another way", [.derivationChanged], from: version(1, [derived]),
        to: version(2, [other]), sql: select, row: { ["t\($0)", "\("t\($0)".count + 1)"] }),
      MatrixCase(
        "an attribute has another default", [.defaultChanged], from: version(1, [count]),
        to: version(2, [attribute("count", .int32, .int(4)), attribute("more", .bool, .bool(true))]),
        set: numbers,
        sql: "SELECT text, count, more FROM Item ORDER BY _pk", row: { ["t\($0)", "\($0 - 3)", "1"] }),
      MatrixCase(
        "large values move into the rows", [.storageChanged], from: version(1, [body]),
        to: version(2, [inline]),
        set: setting("body") { .data(Data(repeating: UInt8($0 % 250), count: $0 % 100 == 1 ? 70_000 : 3)) },
        sql: "SELECT length(body), hex(substr(body, 1, 1)) FROM Item ORDER BY _pk",
        row: { [$0 % 100 == 1 ? "70000" : "3", String(format: "%02X", $0 % 250)] }),
      MatrixCase(
        "values may move out of the rows", [.storageChanged], from: version(1, [inline]),
        to: version(2, [body]),
        set: setting("body") { .data(Data([UInt8($0 % 250)])) },
        sql: "SELECT hex(body) FROM Item ORDER BY _pk", row: { [String(format: "%02X", $0 % 250)] }),
      MatrixCase(
        "rules allow less", [.rulesTightened], from: version(1, [count]), to: version(2, [least]),
        set: numbers,
        sql: select, row: { ["t\($0)", "\($0 - 3)"] }),
    ]
  }
}
