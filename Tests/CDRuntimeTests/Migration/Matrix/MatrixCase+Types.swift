import Foundation

@testable import CDRuntime

extension MatrixCase {
  /// A type that becomes another, with values of the old one and how they read as SQL afterwards.
  private static func conversion(
    _ old: AttributeType, _ new: AttributeType, _ rules: MappingRules? = nil,
    value: @escaping @Sendable (Int) -> AttributeValue, as column: String = "value", none: String? = nil,
    reads: @escaping @Sendable (Int) -> String
  ) -> MatrixCase {
    MatrixCase(
      "\(old) becomes \(new)", [.attributeTypeChanged],
      from: version(1, [attribute("value", old, isOptional: true)]),
      to: version(2, [attribute("value", new, isOptional: true)]), rules,
      set: { object, number in
        // nil stays nil, except where a rule says what becomes of all that does not fit.
        if number % 5 != 4 { try object.setValue(.attribute(value(number)), forKey: "value") }
      }, sql: "SELECT \(column) FROM Item ORDER BY _pk", row: { [$0 % 5 == 4 ? none : reads($0)] })
  }

  private static let decimal = "substr(value, instr(value, ' ') + 1)"
  private static let small: @Sendable (Int) -> AttributeValue = { .int(Int64($0) - 2) }
  private static let uuid = UUID(uuidString: "00000000-0000-0000-0000-00000000ABCD") ?? UUID()

  static var types: [MatrixCase] {
    [
      conversion(.int16, .int32, value: small, reads: { "\($0 - 2)" }),
      conversion(.int16, .int64, value: small, reads: { "\($0 - 2)" }),
      conversion(.int16, .float, value: small, reads: { "\(Double($0 - 2))" }),
      conversion(.int16, .double, value: small, reads: { "\(Double($0 - 2))" }),
      conversion(.int32, .int64, value: small, reads: { "\($0 - 2)" }),
      conversion(.int32, .double, value: small, reads: { "\(Double($0 - 2))" }),
      conversion(.int32, .date, value: small, reads: { "\(Double($0 - 2))" }),
      conversion(.int32, .decimal, value: small, as: decimal, reads: { "\($0 - 2)" }),
      conversion(.int64, .decimal, value: small, as: decimal, reads: { "\($0 - 2)" }),
      conversion(.int64, .string, value: small, reads: { "\($0 - 2)" }),
      conversion(.int64, .double, dropping("value"), value: small, reads: { "\(Double($0 - 2))" }),
      conversion(
        .int64, .int16, rule("value", "CAST(value, 'Int16', 0)"), value: { .int(Int64($0) * 40_000) },
        reads: { _ in "0" }),
      conversion(.float, .double, value: { .double(Double($0) / 4) }, reads: { "\(Double($0) / 4)" }),
      conversion(
        .double, .date, rule("value", "CAST(value, 'Date', CAST(1, 'Date'))"),
        value: { .double($0 % 3 == 1 ? .infinity : Double($0) / 8) },
        reads: { $0 % 3 == 1 ? "1.0" : "\(Double($0) / 8)" }),
      conversion(
        .double, .float, dropping("value"), value: { .double(Double($0) / 4) }, reads: { "\(Double($0) / 4)" }
      ),
      conversion(
        .double, .int32, rule("value", "CAST(value, 'Int32', -1)"), value: { .double(Double($0)) },
        reads: { "\($0)" }),
      conversion(
        .date, .double, value: { .date(Date(timeIntervalSinceReferenceDate: Double($0) / 2)) },
        reads: { "\(Double($0) / 2)" }),
      conversion(.bool, .int16, value: { .bool($0 % 2 == 0) }, reads: { $0 % 2 == 0 ? "1" : "0" }),
      conversion(
        .string, .int32, rule("value", "CAST(value, 'Int32', -7) ?? -8"),
        value: { .string($0 % 2 == 0 ? "\($0)" : "none") }, none: "-8",
        reads: { $0 % 2 == 0 ? "\($0)" : "-7" }),
      conversion(
        .uuid, .data, value: { _ in .uuid(uuid) }, as: "CASE WHEN value IS NOT NULL THEN hex(value) END",
        reads: { _ in
          "0000000000000000000000000000ABCD"
        }),
      conversion(.uuid, .string, value: { _ in .uuid(uuid) }, reads: { _ in uuid.uuidString }),
      conversion(
        .decimal, .double, dropping("value"), value: { .decimal(Decimal($0) / 4) },
        reads: { "\(Double($0) / 4)" }),
      conversion(.bool, .string, value: { .bool($0 % 2 == 0) }, reads: { $0 % 2 == 0 ? "YES" : "NO" }),
    ]
  }

  private static func ranked(
    _ number: Int, _ cases: [(String, Int64)], _ raw: AttributeType = .int16
  ) -> ModelVersion {
    version(
      number, [attribute("rank", .enumeration("Rank"), .int(0))],
      enums: [
        EnumDescription(
          name: "Rank", rawType: raw, cases: cases.map { .init(name: $0.0, rawValue: .int($0.1)) })
      ])
  }

  static var enumerations: [MatrixCase] {
    let ranks = setting("rank") { .int(Int64($0 % 3)) }
    let three: [(String, Int64)] = [("low", 0), ("mid", 1), ("high", 2)]
    let select = "SELECT text, rank FROM Item ORDER BY _pk"
    return [
      MatrixCase(
        "cases are added", [.casesAdded], from: ranked(1, three), to: ranked(2, three + [("top", 3)]),
        set: ranks,
        sql: select, row: { ["t\($0)", "\($0 % 3)"] }),
      MatrixCase(
        "cases are renamed", [.casesRenamed], from: ranked(1, three),
        to: ranked(2, [("low", 0), ("middle", 1), ("high", 2)]), set: ranks, sql: select,
        row: { ["t\($0)", "\($0 % 3)"] }),
      MatrixCase(
        "cases are removed", [.casesRemoved], from: ranked(1, three), to: ranked(2, Array(three.prefix(2))),
        rule("rank", "TERNARY(rank == 2, 1, rank)"), set: ranks, sql: select,
        row: { ["t\($0)", "\(min($0 % 3, 1))"] }),
      MatrixCase(
        "cases have other values", [.caseValuesChanged], from: ranked(1, three),
        to: ranked(2, [("low", 0), ("mid", 10), ("high", 20)]), rule("rank", "rank * 10"), set: ranks,
        sql: select,
        row: { ["t\($0)", "\($0 % 3 * 10)"] }),
      MatrixCase(
        "numbers become cases", [.becameEnumeration], from: version(1, [attribute("rank", .int16, .int(0))]),
        to: ranked(2, three), rule("rank", "TERNARY(rank > 2, 2, rank)"),
        set: setting("rank") { .int(Int64($0 % 5)) },
        sql: select, row: { ["t\($0)", "\(min($0 % 5, 2))"] }),
    ]
  }
}
