import SeededRandom
import Testing

@testable import CDModel

@Suite struct ClosestNameTests {
  /// The distance in half changes, by the whole table.
  private func distance(_ left: [Character], _ right: [Character]) -> Int {
    var rows = [(0...right.count).map { 2 * $0 }]
    for (place, a) in left.enumerated() {
      var row = [2 * (place + 1)]
      for (column, b) in right.enumerated() {
        let change = a == b ? 0 : a.lowercased() == b.lowercased() ? 1 : 2
        var least = min(rows[place][column + 1] + 2, row[column] + 2, rows[place][column] + change)
        if place > 0, column > 0, a == right[column - 1], left[place - 1] == b {
          least = min(least, rows[place - 1][column - 1] + 2)
        }
        row.append(least)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }

  private func slowClosestName(to name: String, in names: [String]) -> String? {
    let wanted = Array(name)
    let limit = max(2, wanted.count * 2 / 3)
    var best: (name: String, distance: Int)?
    for candidate in names where candidate != name {
      let distance = distance(wanted, Array(candidate))
      guard distance <= limit, distance < best?.distance ?? Int.max,
        distance < 2 * min(wanted.count, candidate.count)
      else { continue }
      best = (candidate, distance)
    }
    return best?.name
  }

  @Test func theShortWayGivesWhatTheLongOneGives() {
    var random = SplitMix(seed: 7)
    func name(_ letters: [Character]) -> String {
      String(
        (0..<Int.random(in: 1...9, using: &random)).compactMap { _ in letters.randomElement(using: &random) })
    }
    for letters in [Array("abAB"), Array("nameNAME12"), Array("éaÉbß")] {
      for _ in 0..<400 {
        let names = (0..<12).map { _ in name(letters) }
        let wanted = name(letters)
        #expect(
          closestName(to: wanted, in: names) == slowClosestName(to: wanted, in: names), "\(wanted) \(names)")
      }
    }
  }

  @Test func aSpentBudgetHasNoAnswers() {
    let names = (0..<1_500).map { "name\($0)" }
    SuggestionBudget.run {
      #expect(closestName(to: "nmae7", in: names) == "name7")
      for _ in 0..<1_500 { _ = closestName(to: "nmae7", in: names) }
      #expect(closestName(to: "nmae7", in: names) == nil)
    }
    #expect(closestName(to: "nmae7", in: names) == "name7")
  }
}
