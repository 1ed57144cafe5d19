import Foundation
import Testing

@testable import GraphTester

@Suite struct GraphTesterTests {
  @Test(arguments: StoreKind.allCases) func randomProgramsAgreeWithTheReference(_ kind: StoreKind) {
    var options = Tester.Options()
    options.stores = [kind]
    options.steps = 60
    for seed in UInt64(1)...20 {
      if let finding = Tester(options: options).run(seed: seed).finding { Issue.record("\(finding)") }
    }
  }
}
