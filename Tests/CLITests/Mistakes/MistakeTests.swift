import CDRuntime
import Foundation
import Testing

/// Each deliberate mistake leads to one message, which says where the mistake is, what is wrong and what to do.
@Suite struct MistakeTests {
  @Test func thereAreThirtyAndMore() {
    #expect(Mistake.all.count >= 30)
    #expect(Set(Mistake.all.map(\.name)).count == Mistake.all.count)
  }

  @Test func withoutAMistakeThereIsNoMessage() throws {
    let folder = try TemporaryFolder()
    try Mistake.makeModel(in: folder)
    let check = try BuiltTool.cdgen.run("check", "P.cdmodel", in: folder.url)
    #expect(check.status == 0 && check.errors == "")
    for act in [Mistake.Act.condition("name == 'Basil'"), .call { try $0.save() }] {
      let none = Mistake("none", act, place: "", cause: "", remedy: "")
      #expect(try none.messages() == [])
    }
  }

  @Test(arguments: Mistake.all)
  func aMessageHasPlaceCauseAndRemedy(mistake: Mistake) throws {
    let messages = try mistake.messages()
    // One mistake is one message, without others that follow from it.
    #expect(messages.count == 1)
    let message = messages.first ?? ""
    #expect(message.contains(mistake.place), "the place: \(message)")
    #expect(message.contains(mistake.cause), "the cause: \(message)")
    #expect(message.contains(mistake.remedy), "the remedy: \(message)")
  }

  /// The article about messages shows those of the mistakes above.
  @Test func theArticleShowsTheseMessages() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let article = try String(
      contentsOf: root.appending(path: "Documentation/cdgen.docc/Messages.md"), encoding: .utf8)
    let messages = try Mistake.all.flatMap { try $0.messages() }
    var count = 0
    for row in article.matches(of: #/(?m)^\| .+ \| `([^`]+)` \|$/#) {
      count += 1
      // What `…` stands for is left out of the comparison.
      let parts = row.1.split(separator: "…").map(String.init)
      let isShown = messages.contains { message in
        var rest = message[...]
        return parts.allSatisfy { part in
          guard let range = rest.range(of: part) else { return false }
          rest = rest[range.upperBound...]
          return true
        }
      }
      #expect(isShown, "no mistake leads to '\(row.1)'")
    }
    #expect(count >= 15)
  }
}
