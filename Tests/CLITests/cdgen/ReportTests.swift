import Foundation
import Testing

/// SARIF logs, and what a person sees at a terminal.
@Suite struct ReportTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func wrongModel() throws {
    try SampleModel.make(
      "A", in: folder,
      version: """
        entities:
          Note:
            attributes:
              text: Strin
              größe: Boolean
            relationships:
              next: { to: "Note?" }
        """)
  }

  /// The results of a log, after a check of what the schema of SARIF 2.1.0 requires.
  private func results(_ text: String) throws -> [[String: Any]] {
    let log = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(log["version"] as? String == "2.1.0")
    #expect(log["$schema"] as? String == "https://json.schemastore.org/sarif-2.1.0.json")
    let run = try #require((log["runs"] as? [[String: Any]])?.first)
    let driver = try #require((run["tool"] as? [String: Any])?["driver"] as? [String: Any])
    #expect(driver["name"] is String)
    let rules = try #require(driver["rules"] as? [[String: Any]])
    let ids = Set(rules.compactMap { $0["id"] as? String })
    #expect(ids.count == rules.count)
    let results = try #require(run["results"] as? [[String: Any]])
    for result in results {
      #expect((result["message"] as? [String: Any])?["text"] is String)
      #expect(["error", "warning", "note"].contains(result["level"] as? String))
      #expect(ids.contains(result["ruleId"] as? String ?? ""))
      let location = try #require((result["locations"] as? [[String: Any]])?.first)
      let physical = try #require(location["physicalLocation"] as? [String: Any])
      #expect((physical["artifactLocation"] as? [String: Any])?["uri"] is String)
      if let region = physical["region"] as? [String: Any] {
        #expect(region["startLine"] as? Int ?? 0 >= 1 && region["startColumn"] as? Int ?? 0 >= 1)
      }
    }
    return results
  }

  private func place(_ result: [String: Any]) -> String {
    let location = (result["locations"] as? [[String: Any]])?.first?["physicalLocation"] as? [String: Any]
    let uri = (location?["artifactLocation"] as? [String: Any])?["uri"] as? String ?? ""
    let region = location?["region"] as? [String: Any]
    return "\(uri):\(region?["startLine"] ?? ""):\(region?["startColumn"] ?? "")"
  }

  @Test func aCheckIsASARIFLog() throws {
    try wrongModel()
    try SampleModel.make("Good", in: folder)
    let result = try BuiltTool.cdgen.run(
      "check", "A.cdmodel", "Good.cdmodel", "Missing one.cdmodel", "--format", "sarif", in: folder.url)
    #expect(result.status == 1 && result.errors == "")
    let found = try results(result.output)
    #expect(
      found.map(place) == [
        "A.cdmodel/1.yaml:4:13", "A.cdmodel/1.yaml:5:14", "A.cdmodel/1.yaml:7:7", "Missing%20one.cdmodel:1:1",
      ])
    #expect(found.map { $0["level"] as? String } == ["error", "error", "warning", "error"])
    let message = (found[0]["message"] as? [String: Any])?["text"] as? String
    #expect(message == "unknown type 'Strin'; did you mean 'String'?")
    let good = try BuiltTool.cdgen.run("check", "Good.cdmodel", "--format", "sarif", in: folder.url)
    #expect(good.status == 0)
    #expect(try results(good.output).isEmpty)
  }

  @Test func aDiffIsASARIFLog() throws {
    try SampleModel.make(in: folder)
    try folder.write(
      SampleModel.version.replacing("text: String", with: "size: Int32").replacing(
        "name: String", with: "name: String?"),
      to: "Notes.cdmodel/2.yaml")
    let result = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", "--format", "sarif", in: folder.url)
    #expect(result.status == 1 && result.errors == "")
    let found = try results(result.output)
    #expect(
      Set(found.map(place)) == ["Notes.cdmodel/1.yaml:4:7", "Notes.cdmodel/2.yaml:4:7"], "\(result.output)")
    #expect(found.allSatisfy { $0["ruleId"] as? String == "migration" })
    #expect(Set(found.compactMap { $0["level"] as? String }) == ["error"], "\(result.output)")
    try folder.write(
      "entities: { Note: { attributes: { size: 1 }, drop: [text] } }\n", to: "Notes.cdmodel/1-2.mapping.yaml")
    let proven = try BuiltTool.cdgen.run("diff", "Notes.cdmodel", "--format", "sarif", in: folder.url)
    #expect(proven.status == 0)
    #expect(try results(proven.output).map { $0["level"] as? String } == ["note"])
  }

  @Test func aVerificationHasAllFormats() throws {
    try SampleModel.make(in: folder)
    _ = try BuiltTool.cdstore.run("create", "n.sqlite", "--model", "Notes.cdmodel", in: folder.url)
    #expect(
      try BuiltTool.cdstore.run("verify", "n.sqlite", "--format", "json", in: folder.url)
        == .init(status: 0, output: "[]\n", errors: ""))
    let whole = try BuiltTool.cdstore.run("verify", "n.sqlite", "--format", "sarif", in: folder.url)
    #expect(whole.status == 0)
    #expect(try results(whole.output).isEmpty)
    // A hash in the file that is not the model's.
    let info = try BuiltTool.cdstore.run("info", "n.sqlite", in: folder.url).output
    let hash = try #require(try Regex("data hash +([0-9a-f]{64})").firstMatch(in: info)?[1].substring)
    let url = folder.url.appending(path: "n.sqlite")
    var file = try Data(contentsOf: url)
    file.replaceSubrange(
      try #require(file.range(of: Data(hash.utf8))), with: Data(String(repeating: "0", count: 64).utf8))
    try file.write(to: url)
    let json = try BuiltTool.cdstore.run("verify", "n.sqlite", "--format", "json", in: folder.url)
    #expect(
      json
        == .init(
          status: 1,
          output: """
            [
              {
                "kind": "wrongHash",
                "message": "the metadata's dataHash does not match the model in the store"
              }
            ]

            """, errors: ""))
    let sarif = try BuiltTool.cdstore.run("verify", "n.sqlite", "--format", "sarif", in: folder.url)
    #expect(sarif.status == 1)
    #expect(try results(sarif.output).map { $0["ruleId"] as? String } == ["wrongHash"])
  }

  // MARK: Terminals

  @Test func aTerminalHasColoursAndCarets() throws {
    try wrongModel()
    let (status, text) = try BuiltTool.cdgen.runOnTerminal(["check", "A.cdmodel"], in: folder.url)
    #expect(status == 1)
    #expect(
      text == """
        \u{1B}[1mA.cdmodel/1.yaml:4:13: \u{1B}[0m\u{1B}[1;31merror:\u{1B}[0m \u{1B}[1munknown type 'Strin'; did you mean 'String'?\u{1B}[0m
              text: Strin
        \u{1B}[1;32m            ^\u{1B}[0m
        \u{1B}[1mA.cdmodel/1.yaml:5:14: \u{1B}[0m\u{1B}[1;31merror:\u{1B}[0m \u{1B}[1munknown type 'Boolean'; did you mean 'Bool'?\u{1B}[0m
              größe: Boolean
        \u{1B}[1;32m             ^\u{1B}[0m

        """
        + text.components(separatedBy: "größe: Boolean\n\u{1B}[1;32m             ^\u{1B}[0m\n").dropFirst()
        .joined())
    #expect(
      text.contains("\u{1B}[1;35mwarning:\u{1B}[0m") && text.hasSuffix("A.cdmodel: 2 errors, 1 warning\n"))
  }

  @Test func noColorLeavesTheCarets() throws {
    try wrongModel()
    for environment in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
      let (_, text) = try BuiltTool.cdgen.runOnTerminal(
        ["check", "A.cdmodel"], in: folder.url, environment: environment)
      #expect(!text.contains("\u{1B}"))
      #expect(text.contains("did you mean 'String'?\n      text: Strin\n            ^\n"), "\(text)")
    }
    // The convention: an empty variable has no effect.
    let (_, text) = try BuiltTool.cdgen.runOnTerminal(
      ["check", "A.cdmodel"], in: folder.url, environment: ["NO_COLOR": ""])
    #expect(text.contains("\u{1B}[1;31merror:"))
  }

  @Test func aLineOfWindowsHasItsCaret() throws {
    try SampleModel.make(
      "A", in: folder, version: "entities:\r\n  Note:\r\n    attributes:\r\n      text: Strin\r\n")
    let (_, text) = try BuiltTool.cdgen.runOnTerminal(
      ["check", "A.cdmodel"], in: folder.url, environment: ["NO_COLOR": "1"])
    #expect(text.contains("\n      text: Strin\n            ^\n"), "\(text)")
  }

  @Test func controlCharactersOfAFileDoNotReachTheTerminal() throws {
    try SampleModel.make(
      "A", in: folder, version: "entities:\n  Note:\n    attributes:\n      text: Strin # 漢字\u{9B}31m\n")
    let (_, text) = try BuiltTool.cdgen.runOnTerminal(
      ["check", "A.cdmodel"], in: folder.url, environment: ["NO_COLOR": "1"])
    #expect(!text.contains("\u{9B}") && !text.contains("\u{1B}"), "\(text)")
  }

  @Test func aVerificationHasColoursOnlyOnATerminal() throws {
    try SampleModel.make(in: folder)
    _ = try BuiltTool.cdstore.run("create", "n.sqlite", "--model", "Notes.cdmodel", in: folder.url)
    let (status, text) = try BuiltTool.cdstore.runOnTerminal(["verify", "n.sqlite"], in: folder.url)
    #expect(status == 0 && text == "\u{1B}[1;32mn.sqlite is whole\u{1B}[0m\n")
    let (_, plain) = try BuiltTool.cdstore.runOnTerminal(
      ["verify", "n.sqlite"], in: folder.url, environment: ["NO_COLOR": "1"])
    #expect(plain == "n.sqlite is whole\n")
  }

  @Test func aDumpShowsProgressOnlyOnATerminal() throws {
    try SampleModel.make(in: folder)
    _ = try BuiltTool.cdstore.run("create", "n.sqlite", "--model", "Notes.cdmodel", in: folder.url)
    let rows = (0..<2000).map { #"{"@entity": "Note", "@id": \#($0), "text": "\#($0)"}"# }
    try folder.write(rows.joined(separator: "\n"), to: "rows.jsonl")
    let (status, text) = try BuiltTool.cdstore.runOnTerminal(
      ["load", "n.sqlite", "rows.jsonl"], in: folder.url)
    #expect(
      status == 0 && text.contains("] ") && text.contains(" % inserting") && text.hasSuffix("Note: 2000\n"))
    let dump = try BuiltTool.cdstore.run("dump", "n.sqlite", in: folder.url)
    #expect(dump.errors == "" && dump.output.split(separator: "\n").count == 2002)
  }
}
