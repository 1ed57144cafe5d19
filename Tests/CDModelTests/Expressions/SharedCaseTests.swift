import CDModel
import PredicateCases
import Testing

/// The collected cases of other implementations' tests and of documents.
@Suite(.enabled(if: PredicateCase.folder != nil, "needs the shared/ folder beside the checkout"))
struct SharedCaseTests {
  @Test func everyFormatParsesOrFailsWhereItShould() throws {
    let cases = try PredicateCase.all()
    #expect(cases.count == 712)
    for item in cases where item.mode != "compound" {
      let mustFail = item.mode == "parse" && item.expected == .error || item.errorStage == "parse"
      do {
        let predicate = try FetchPredicate(format: item.format, arguments: item.arguments)
        #expect(!mustFail, "\(item.id): \(item.format) parsed as \(predicate)")
      } catch {
        #expect(
          mustFail || item.expected == .other("no-crash"),
          "\(item.id): \(item.format.prefix(80)): \(error)")
        if let offset = item.errorOffset {
          #expect(error.utf16Offset == offset, "\(item.id): \(item.format): \(error)")
        }
      }
    }
  }

  @Test func canonicalTextIsTheExpectedOneAndReadsBack() throws {
    for item in try PredicateCase.all() where item.mode != "compound" {
      guard let predicate = try? FetchPredicate(format: item.format, arguments: item.arguments) else {
        continue
      }
      let text = predicate.canonicalText
      if item.mode == "format" { #expect(item.expected == .other(text), "\(item.id)") }
      let again = try FetchPredicate(format: text)
      #expect(again == predicate, "\(item.id): \(text.prefix(200))")
      #expect(again.hashValue == predicate.hashValue)
      #expect(again.canonicalText == text, "\(item.id)")
    }
  }

  @Test func theCheckerRefusesWhatHasNoAnswerAndNothingElse() throws {
    let datasets = try PredicateDataset.all()
    #expect(!datasets.isEmpty)
    for item in try PredicateCase.all() where item.mode == "dataset" {
      let version = try #require(datasets[item.dataset]?.version, "\(item.id): \(item.dataset)")
      let checker = ExpressionChecker(graph: EntityGraph(version))
      let predicate = try FetchPredicate(format: item.format, arguments: item.arguments)
      let checked = checker.check(predicate, on: item.entity)
      let errors = checked.diagnostics.filter { $0.severity == .error }
      if item.expected == .error {
        #expect(!errors.isEmpty, "\(item.id): \(item.format)")
      } else {
        #expect(errors.isEmpty, "\(item.id): \(item.format)")
      }
    }
  }
}
