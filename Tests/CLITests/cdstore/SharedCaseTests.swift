import CDModel
import Foundation
import PredicateCases
import Testing

/// The collected cases by way of the command line.
@Suite(.enabled(if: PredicateCase.folder != nil, "needs the shared/ folder beside the checkout"))
struct SharedCaseTests {
  private let folder: TemporaryFolder
  private let file: SharedCaseFile

  init() throws {
    folder = try TemporaryFolder()
    file = try SharedCaseFile()
  }

  private func answers(_ arguments: [String], _ requests: [JSONValue]) throws -> [JSONValue] {
    let result = try BuiltTool.cdstore.run(
      arguments, in: folder.url, input: requests.map { $0.canonicalText + "\n" }.joined())
    #expect(result.status == 0 && result.errors == "")
    let lines = try result.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    try #require(lines.count == requests.count)
    return lines
  }

  @Test func filtersAnswerAsExpected() throws {
    let cases = file.cases.filter { $0.text("mode") == "eval" }
    let requests = cases.map { item in
      item.request([.init("objects", item["objects"] ?? .array([item["object"] ?? .null]))])
    }
    for (item, answer) in zip(cases, try answers(["filter", "--batch"], requests)) {
      if answer["error"] != nil {
        #expect(item.isExpected(answer), "\(item.text("id")): \(answer.canonicalText)")
        continue
      }
      let expected: JSONValue? =
        switch item["expected"] {
        case .bool(let holds)?: .array(holds ? [.int(0)] : [])
        case let other: other
        }
      #expect(answer["matches"] == expected, "\(item.text("id")): \(item.format.prefix(90))")
    }
    #expect(cases.count == 267)
  }

  @Test func fetchesAnswerAsExpected() throws {
    var count = 0
    for dataset in file.datasets {
      let name = dataset.key
      try folder.write(SharedCaseFile.model(name, dataset.value).canonicalJSON, to: "\(name).json")
      try folder.write(SharedCaseFile.rows(dataset.value).canonicalText, to: "\(name).rows.json")
      let store = "\(name).sqlite"
      for arguments in [
        ["create", store, "--model", "\(name).json"],
        ["load", store, "\(name).rows.json", "--id", SharedCaseFile.idAttribute],
      ] {
        let result = try BuiltTool.cdstore.run(arguments, in: folder.url)
        try #require(result.status == 0, "\(name): \(result.errors)")
      }
      let cases = file.cases.filter { $0.text("mode") == "dataset" && $0.text("dataset") == name }
      count += cases.count
      // Both evaluators in one process, since it takes longer to start than to answer.
      let asked = ["store", "memory"].flatMap { evaluator in cases.map { (evaluator: evaluator, item: $0) } }
      let requests = asked.map { evaluator, item in
        item.request([
          .init("entity", .string(item.text("entity"))), .init("evaluator", .string(evaluator)),
        ])
      }
      let found = try answers(["fetch", store, "--batch", "--id", SharedCaseFile.idAttribute], requests)
      for ((evaluator, item), answer) in zip(asked, found) {
        let place = "\(item.text("id")) by the \(evaluator)"
        if answer["error"] != nil {
          #expect(item["expected"] == .string("error"), "\(place): \(answer.canonicalText)")
          continue
        }
        let prefix = item.text("entity") + "/"
        #expect(
          Self.texts(answer["ids"]) == Set(Self.texts(item["expected"]).map { prefix + $0 }),
          "\(place): \(item.format.prefix(90))")
        #expect(item["expected"] != .string("error"), "\(place): \(item.format.prefix(90))")
      }
    }
    #expect(count == 339)
  }

  private static func texts(_ json: JSONValue?) -> Set<String> {
    guard case .array(let elements)? = json else { return [] }
    return Set(elements.compactMap { if case .string(let text) = $0 { text } else { nil } })
  }
}
