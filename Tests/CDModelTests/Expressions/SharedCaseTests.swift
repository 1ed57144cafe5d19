import CDModel
import Testing

/// The collected cases of other implementations' tests and of documents.
@Suite(.enabled(if: SharedMaterial.folder != nil, "needs the shared/ folder beside the checkout"))
struct SharedCaseTests {
  @Test func everyFormatParsesOrFailsWhereItShould() throws {
    let cases = try SharedMaterial.predicateCases()
    #expect(cases.count == 712)
    for item in cases where item.mode != "compound" {
      let mustFail = item.mode == "parse" && item.expected as? String == "error" || item.errorStage == "parse"
      do {
        let predicate = try FetchPredicate(format: item.format, arguments: item.arguments)
        #expect(!mustFail, "\(item.id): \(item.format) parsed as \(predicate)")
      } catch {
        #expect(
          mustFail || item.expected as? String == "no-crash",
          "\(item.id): \(item.format.prefix(80)): \(error)")
        if let offset = item.errorOffset {
          #expect(error.utf16Offset == offset, "\(item.id): \(item.format): \(error)")
        }
      }
    }
  }

  @Test func canonicalTextIsTheExpectedOneAndReadsBack() throws {
    for item in try SharedMaterial.predicateCases() where item.mode != "compound" {
      guard let predicate = try? FetchPredicate(format: item.format, arguments: item.arguments) else {
        continue
      }
      let text = predicate.canonicalText
      if item.mode == "format" { #expect(text == item.expected as? String, "\(item.id)") }
      let again = try FetchPredicate(format: text)
      #expect(again == predicate, "\(item.id): \(text.prefix(200))")
      #expect(again.hashValue == predicate.hashValue)
      #expect(again.canonicalText == text, "\(item.id)")
    }
  }

  @Test func theCheckerRefusesWhatHasNoAnswerAndNothingElse() throws {
    let versions = try SharedMaterial.datasetVersions()
    #expect(!versions.isEmpty)
    for item in try SharedMaterial.predicateCases() where item.mode == "dataset" {
      let version = try #require(versions[item.dataset ?? ""], "\(item.id): \(item.dataset ?? "")")
      let checker = ExpressionChecker(graph: EntityGraph(version))
      let predicate = try FetchPredicate(format: item.format, arguments: item.arguments)
      let checked = checker.check(predicate, on: item.entity ?? "")
      let errors = checked.diagnostics.filter { $0.severity == .error }
      if item.expected as? String == "error" {
        #expect(!errors.isEmpty, "\(item.id): \(item.format)")
      } else {
        #expect(errors.isEmpty, "\(item.id): \(item.format)")
      }
    }
  }
}
